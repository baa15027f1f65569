#include "analysis/hunt/forward.h"

#include <absl/container/flat_hash_map.h>

#include <algorithm>
#include <utility>

#include "analysis/hunt/sites.h"
#include "base/status_macros.h"

namespace stallhound::analysis {
namespace {

using Sequence = std::pair<uint32_t, int64_t>;  // process, number

// A point inside an autograd node.
struct InBackward {
  size_t point;
  Sequence sequence;
  int64_t node_start_ns;
  capture::StringId node;
};

// Operators whose numbers are wanted, where their lines are known.
class OperatorReader : public capture::CaptureVisitor {
 public:
  struct Operator {
    int64_t start_ns;
    uint32_t thread_id;
    uint32_t stack_id;
    capture::StringId name;
  };

  explicit OperatorReader(const std::vector<InBackward>& nodes) {
    for (const InBackward& node : nodes) operators_.try_emplace(node.sequence);
  }

  absl::Status On(const capture::RangeBatch& batch) override {
    for (size_t i = 0; i < batch.size; ++i) {
      if (!batch.sequence[i] || !batch.stack_id[i]) continue;
      const auto it = operators_.find({batch.process_id[i], *batch.sequence[i]});
      if (it == operators_.end()) continue;
      it->second.push_back({batch.start_ns[i], batch.thread_id[i], *batch.stack_id[i], batch.name[i]});
    }
    return absl::OkStatus();
  }

  std::optional<ForwardCall> Of(const InBackward& node) const {
    std::optional<ForwardCall> forward;
    std::optional<uint32_t> thread_id;
    bool is_exact = true;
    for (const Operator& candidate : operators_.at(node.sequence)) {
      // The node itself, run by another thread of the program before, is not what made it.
      if (candidate.start_ns >= node.node_start_ns || candidate.name == node.node) continue;
      is_exact = is_exact && (!thread_id || thread_id == candidate.thread_id);
      thread_id = candidate.thread_id;
      forward = ForwardCall{candidate.stack_id, node.node, is_exact};
    }
    return forward;
  }

 private:
  absl::flat_hash_map<Sequence, std::vector<Operator>> operators_;  // by start
};

}  // namespace

// The outermost numbered range that each point lies in: operators inside a node may have numbers of their own, for a
// second derivative.
class ForwardFinder::NodeReader : public capture::CaptureVisitor {
 public:
  NodeReader(const std::vector<SyncPoint>& points, const std::vector<size_t>& candidates) : points_(points) {
    for (const size_t point : candidates) of_thread_[points[point].thread_id].push_back(point);
    found_.resize(points.size());
  }

  absl::Status On(const capture::RangeBatch& batch) override {
    for (size_t i = 0; i < batch.size; ++i) {
      if (!batch.sequence[i] || !batch.end_ns[i]) continue;
      const auto thread = of_thread_.find(batch.thread_id[i]);
      if (thread == of_thread_.end()) continue;
      const std::vector<size_t>& candidates = thread->second;
      auto it = std::lower_bound(candidates.begin(), candidates.end(), batch.start_ns[i],
                                 [&](size_t point, int64_t start_ns) { return points_[point].start_ns < start_ns; });
      for (; it != candidates.end() && points_[*it].start_ns < *batch.end_ns[i]; ++it) {
        if (found_[*it]) continue;
        found_[*it] = InBackward{*it, {batch.process_id[i], *batch.sequence[i]}, batch.start_ns[i], batch.name[i]};
      }
    }
    return absl::OkStatus();
  }

  std::vector<InBackward> Found() const {
    std::vector<InBackward> found;
    for (const auto& entry : found_) {
      if (entry) found.push_back(*entry);
    }
    return found;
  }

 private:
  const std::vector<SyncPoint>& points_;
  absl::flat_hash_map<uint32_t, std::vector<size_t>> of_thread_;  // by start
  std::vector<std::optional<InBackward>> found_;
};

ForwardFinder::ForwardFinder(const Directory& directory, std::vector<SyncPoint>& points) : points_(points) {
  if (!directory.has_operators()) return;
  absl::flat_hash_map<uint32_t, bool> has_user_line;  // by stack
  std::vector<size_t> candidates;
  for (size_t i = 0; i < points.size(); ++i) {
    if (points[i].stack_id) {
      const auto [it, is_new] = has_user_line.try_emplace(*points[i].stack_id);
      if (is_new) it->second = FindPlace(directory.Stack(*points[i].stack_id)).innermost_user.has_value();
      if (it->second) continue;
    }
    candidates.push_back(i);
  }
  if (!candidates.empty()) nodes_ = std::make_unique<NodeReader>(points, candidates);
}

ForwardFinder::~ForwardFinder() = default;

absl::Status ForwardFinder::On(const capture::RangeBatch& batch) {
  return nodes_ ? nodes_->On(batch) : absl::OkStatus();
}

absl::Status ForwardFinder::Finish(capture::CaptureReader& reader) {
  if (!nodes_) return absl::OkStatus();
  const std::vector<InBackward> found = nodes_->Found();
  if (found.empty()) return absl::OkStatus();
  OperatorReader operators(found);
  SH_RETURN_IF_ERROR(reader.Read(capture::Tables({capture::Table::kRange}), operators));
  for (const InBackward& node : found) points_[node.point].forward = operators.Of(node);
  return absl::OkStatus();
}

absl::Status FindForwards(capture::CaptureReader& reader, const Directory& directory, std::vector<SyncPoint>& points) {
  ForwardFinder finder(directory, points);
  if (!finder.has_candidates()) return absl::OkStatus();
  SH_RETURN_IF_ERROR(reader.Read(capture::Tables({capture::Table::kRange}), finder));
  return finder.Finish(reader);
}

}  // namespace stallhound::analysis
