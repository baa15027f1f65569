#include "analysis/hunt/wait_sets.h"

#include <algorithm>

#include "analysis/hunt/last_ends.h"

namespace stallhound::analysis {
namespace {

// Sets of streams, in place of a stream's id.
constexpr uint32_t kAllStreams = 0xffffffffu;
constexpr uint32_t kBlockingStreams = 0xfffffffeu;
constexpr uint32_t kUnknownContext = 0;

// In the order in which nodes of one instant take effect.
enum class NodeKind : uint8_t {
  kRecord,  // an event is recorded: what its stream has then is kept
  kJoin,    // the stream waits for an event: what was kept is added to what it has
  kPoint,   // a sync point asks
};

struct Node {
  int64_t time_ns;
  int64_t return_ns;    // of a point
  int64_t last_end_ns;  // of work submitted since the node before
  uint32_t index;       // of the point, or of the stream wait
  NodeKind kind;
};

}  // namespace

class WaitSets::Lane {
 public:
  std::vector<Node> nodes;
  size_t cursor = 0;
  int64_t last_end_ns = INT64_MIN;  // while the answers are put together

  void Sort() {
    std::sort(nodes.begin(), nodes.end(), [](const Node& a, const Node& b) {
      return std::tie(a.time_ns, a.kind, a.index) < std::tie(b.time_ns, b.kind, b.index);
    });
  }
  size_t Seek(int64_t time_ns) {
    return cursor = SeekFrom(cursor, nodes.size(), time_ns, [this](size_t i) { return nodes[i].time_ns; });
  }
  void AddAt(size_t node, int64_t end_ns) {
    if (node < nodes.size()) nodes[node].last_end_ns = std::max(nodes[node].last_end_ns, end_ns);
  }
};

WaitSets::WaitSets(const Directory& directory) : directory_(directory) {}
WaitSets::~WaitSets() = default;

WaitSets::Key WaitSets::KeyOf(const StreamMoment& moment) const {
  const uint32_t context_id = moment.context_id.value_or(kUnknownContext);
  if (!moment.stream_id) return {moment.process_id, context_id, kAllStreams};
  const bool is_null = directory_.IsNullStream(moment.process_id, context_id, *moment.stream_id);
  return {moment.process_id, context_id, is_null ? kBlockingStreams : *moment.stream_id};
}

WaitSets::Lane& WaitSets::LaneOf(const StreamMoment& moment) {
  std::unique_ptr<Lane>& lane = lanes_[KeyOf(moment)];
  if (lane == nullptr) lane = std::make_unique<Lane>();
  return *lane;
}

void WaitSets::AddPoint(size_t index, const StreamMoment& until, int64_t return_ns) {
  LaneOf(until).nodes.push_back({until.time_ns, return_ns, INT64_MIN, static_cast<uint32_t>(index), NodeKind::kPoint});
}

void WaitSets::AddStreamWait(const StreamWait& wait) {
  LaneOf(wait.recorded)
      .nodes.push_back(
          {wait.recorded.time_ns, 0, INT64_MIN, static_cast<uint32_t>(stream_waits_.size()), NodeKind::kRecord});
  stream_waits_.push_back(wait);
}

void WaitSets::Prepare() {
  // Now every lane that anything asks exists.
  for (size_t i = 0; i < stream_waits_.size(); ++i) {
    const StreamMoment& waiting = stream_waits_[i].waiting;
    for (Lane* lane : LanesOf(waiting.process_id, waiting.context_id, *waiting.stream_id)) {
      lane->nodes.push_back({waiting.time_ns, 0, INT64_MIN, static_cast<uint32_t>(i), NodeKind::kJoin});
    }
  }
  for (auto& [key, lane] : lanes_) lane->Sort();
}

WaitSets::Lanes WaitSets::LanesOf(uint32_t process_id, std::optional<uint32_t> context_id, uint32_t stream_id) const {
  Lanes lanes;
  const auto add = [&](uint32_t context, uint32_t streams) {
    const auto it = lanes_.find(Key(process_id, context, streams));
    if (it != lanes_.end()) lanes.push_back(it->second.get());
  };
  const uint32_t context = context_id.value_or(kUnknownContext);
  const bool is_blocking = !directory_.IsNonBlocking(process_id, context, stream_id);
  for (const uint32_t streams : {stream_id, kAllStreams, kBlockingStreams}) {
    if (streams == kBlockingStreams && !is_blocking) continue;
    add(context, streams);
    // A call whose context is not recorded waits for what its process submitted.
    if (context != kUnknownContext) add(kUnknownContext, streams);
  }
  return lanes;
}

void WaitSets::Add(const Lanes& lanes, int64_t launch_ns, int64_t end_ns) {
  for (Lane* lane : lanes) lane->AddAt(lane->Seek(launch_ns), end_ns);
}

void WaitSets::AddUnknown(const Lanes& lanes, int64_t start_ns, int64_t end_ns) {
  for (Lane* lane : lanes) {
    size_t node = lane->Seek(start_ns);
    while (node > 0 && lane->nodes[node - 1].kind == NodeKind::kPoint && lane->nodes[node - 1].return_ns >= end_ns) {
      --node;
    }
    lane->AddAt(node, end_ns);
  }
}

std::vector<std::optional<int64_t>> WaitSets::Finish(size_t point_count) {
  struct Step {
    Lane* lane;
    Node* node;
  };
  std::vector<Step> steps;
  for (auto& [key, lane] : lanes_) {
    for (Node& node : lane->nodes) steps.push_back({lane.get(), &node});
  }
  // An event is recorded before a stream waits for it, so in time order everything that is asked is known.
  std::stable_sort(steps.begin(), steps.end(), [](const Step& a, const Step& b) {
    return std::tie(a.node->time_ns, a.node->kind) < std::tie(b.node->time_ns, b.node->kind);
  });
  std::vector<int64_t> recorded_ns(stream_waits_.size(), INT64_MIN);
  std::vector<std::optional<int64_t>> awaited_end_ns(point_count);
  for (const auto& [lane, node] : steps) {
    int64_t& last_end_ns = lane->last_end_ns;
    last_end_ns = std::max(last_end_ns, node->last_end_ns);
    switch (node->kind) {
      case NodeKind::kRecord:
        recorded_ns[node->index] = last_end_ns;
        break;
      case NodeKind::kJoin:
        last_end_ns = std::max(last_end_ns, recorded_ns[node->index]);
        break;
      case NodeKind::kPoint:
        if (last_end_ns != INT64_MIN) awaited_end_ns[node->index] = last_end_ns;
        break;
    }
  }
  return awaited_end_ns;
}

}  // namespace stallhound::analysis
