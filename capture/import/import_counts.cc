#include "capture/import/import_counts.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "base/json_writer.h"
#include "base/status_macros.h"

namespace stallhound::capture {
namespace {

// More start times than this are no help to a reader.
constexpr size_t kMaxKernelStarts = 64;

constexpr std::string_view kItemOps[] = {"aten::item", "aten::_local_scalar_dense", "aten::is_nonzero"};
// In all forms: runtime and driver, stream-ordered, HIP's.
constexpr std::string_view kMallocs[] = {"cudaMalloc",      "cudaMallocAsync", "cuMemAlloc",
                                         "cuMemAllocAsync", "hipMalloc",       "hipMallocAsync"};
constexpr std::string_view kFrees[] = {"cudaFree",       "cudaFreeAsync", "cuMemFree",
                                       "cuMemFreeAsync", "hipFree",       "hipFreeAsync"};

template <size_t size>
bool Contains(const std::string_view (&list)[size], std::string_view word) {
  return std::find(std::begin(list), std::end(list), word) != std::end(list);
}

const char* SyncName(SyncType type) {
  static constexpr const char* kNames[] = {"unknown", "Event Sync", "Stream Wait Event", "Stream Sync", "Context Sync"};
  const auto index = static_cast<size_t>(type);
  return index < std::size(kNames) ? kNames[index] : "unknown";
}

class Counter : public CaptureVisitor {
 public:
  Counter(const CaptureReader& reader, const CountRules& rules) : reader_(reader), rules_(rules) {}

  absl::Status On(const KernelBatch& batch) override {
    kernels_ += static_cast<int64_t>(batch.size);
    for (size_t i = 0; i < batch.size; ++i) {
      kernel_ns_ += batch.end_ns[i] - batch.start_ns[i];
      streams_.emplace(batch.device_id[i], batch.stream_id[i]);
      devices_.insert(batch.device_id[i]);
      if (batch.launch_start_ns[i]) ++kernels_with_launch_;
      if (starts_.size() <= kMaxKernelStarts) starts_.push_back(batch.start_ns[i]);
      CountGraphNode(batch, i);
    }
    return absl::OkStatus();
  }

  absl::Status On(const CopyBatch& batch) override {
    for (size_t i = 0; i < batch.size; ++i) {
      ++copies_[CopyDirectionName(batch.direction[i])];
      devices_.insert(batch.device_id[i]);
    }
    return absl::OkStatus();
  }

  absl::Status On(const MemsetBatch& batch) override {
    memsets_ += static_cast<int64_t>(batch.size);
    return absl::OkStatus();
  }

  absl::Status On(const RangeBatch& batch) override {
    for (size_t i = 0; i < batch.size; ++i) {
      if (batch.kind[i] == RangeKind::kStep) ++steps_;
      if (batch.kind[i] == RangeKind::kOperator) ++operators_[batch.name[i]];
    }
    return absl::OkStatus();
  }

  absl::Status On(const HostCallBatch& batch) override {
    for (size_t i = 0; i < batch.size; ++i) {
      Call& call = calls_[{batch.api[i], batch.layer[i]}];
      ++call.count;
      call.total_ns += batch.end_ns[i] - batch.start_ns[i];
      call.api_class = batch.api_class[i];
      if (batch.api_class[i] == ApiClass::kGraphLaunch && batch.correlation_id[i]) {
        graph_correlations_.insert(*batch.correlation_id[i]);
      }
    }
    return absl::OkStatus();
  }

  absl::Status On(const SyncBatch& batch) override {
    for (size_t i = 0; i < batch.size; ++i) ++syncs_[batch.type[i]];
    return absl::OkStatus();
  }

  absl::Status On(const LossBatch& batch) override {
    for (size_t i = 0; i < batch.size; ++i) losses_.push_back(batch.Get(i));
    return absl::OkStatus();
  }

  ImportCounts Finish() const {
    ImportCounts counts;
    const CaptureInfo& info = reader_.info();
    counts.format = info.format;
    FinishGpu(&counts);
    FinishHost(&counts);
    counts.notes = info.notes;
    for (const LossRow& loss : losses_) {
      counts.losses[Info(loss.counter).id] += loss.count;
      if (loss.detail) counts.loss_details[Info(loss.counter).id] = std::string(reader_.strings().Get(*loss.detail));
    }
    return counts;
  }

 private:
  struct Call {
    int64_t count = 0;
    int64_t total_ns = 0;
    ApiClass api_class = ApiClass::kOther;
  };

  // A node id says it; else the call does, whose row may come later than the kernel's in another table's order.
  void CountGraphNode(const KernelBatch& batch, size_t i) {
    const bool from_graph = batch.graph_node_id[i].has_value() ||
                            (batch.correlation_id[i] && graph_correlations_.count(*batch.correlation_id[i]) > 0);
    if (from_graph) ++kernels_from_graph_;
  }

  void FinishGpu(ImportCounts* counts) const {
    counts->kernels = kernels_;
    counts->kernels_timed = kernels_;
    counts->kernels_with_launch = kernels_with_launch_;
    counts->kernels_without_launch = kernels_ - kernels_with_launch_;
    counts->kernels_from_graph = kernels_from_graph_;
    counts->kernel_time_us = static_cast<double>(kernel_ns_) / 1000;
    if (starts_.size() <= kMaxKernelStarts && reader_.info().epoch_ns) {
      counts->kernel_start_ns = starts_;
      for (int64_t& start_ns : *counts->kernel_start_ns) start_ns += *reader_.info().epoch_ns;
    }
    counts->memcpy = copies_;
    counts->memcpy_timed = 0;
    for (const auto& [direction, count] : copies_) *counts->memcpy_timed += count;
    counts->memsets = memsets_;
    if (!streams_.empty()) counts->streams = static_cast<int64_t>(streams_.size());
    if (!devices_.empty()) counts->devices = static_cast<int64_t>(devices_.size());
    std::map<std::string, int64_t> kinds;
    for (const auto& [type, count] : syncs_) kinds[SyncName(type)] = count;
    if (rules_.cuda_sync_by_kind && !kinds.empty()) counts->cuda_sync = kinds;
  }

  void FinishHost(ImportCounts* counts) const {
    int64_t operators = 0;
    std::map<std::string, int64_t> items;
    for (const auto& [name, count] : operators_) {
      operators += count;
      const std::string_view text = reader_.strings().Get(name);
      if (Contains(kItemOps, text)) items[std::string(text)] = count;
    }
    counts->cpu_ops = operators;
    if (!items.empty()) counts->item_ops = items;
    counts->steps = steps_;
    counts->host_waits.emplace();
    counts->runtime_calls = counts->driver_calls = counts->mallocs = counts->frees = counts->graph_launches = 0;
    int64_t wait_ns = 0;
    int64_t stream_waits = 0;
    for (const auto& [key, call] : calls_) {
      const std::string_view api = reader_.strings().Get(key.first);
      const bool runtime = key.second == ApiLayer::kRuntime || rules_.driver_calls_in_runtime_calls;
      *(runtime ? counts->runtime_calls : counts->driver_calls) += call.count;
      if (api.ends_with("Synchronize")) {
        (*counts->host_waits)[std::string(api)] += call.count;
        wait_ns += call.total_ns;
      }
      if (Contains(kMallocs, api)) *counts->mallocs += call.count;
      if (Contains(kFrees, api)) *counts->frees += call.count;
      if (call.api_class == ApiClass::kGraphLaunch) *counts->graph_launches += call.count;
      if (call.api_class == ApiClass::kStreamWaitEvent) stream_waits += call.count;
    }
    counts->host_wait_us = static_cast<double>(wait_ns) / 1000;
    // A record repeats its call; a trace may hold only one of the two.
    const auto records = syncs_.find(SyncType::kStreamWaitEvent);
    counts->device_side_waits = std::max(stream_waits, records == syncs_.end() ? 0 : records->second);
  }

  const CaptureReader& reader_;
  const CountRules rules_;
  int64_t kernels_ = 0, kernels_with_launch_ = 0, kernels_from_graph_ = 0, kernel_ns_ = 0, memsets_ = 0, steps_ = 0;
  std::vector<int64_t> starts_;
  std::set<std::pair<uint32_t, uint32_t>> streams_;
  std::set<uint32_t> devices_;
  std::map<std::string, int64_t> copies_;
  std::map<StringId, int64_t> operators_;
  std::map<std::pair<StringId, ApiLayer>, Call> calls_;
  std::set<uint64_t> graph_correlations_;
  std::map<SyncType, int64_t> syncs_;
  std::vector<LossRow> losses_;
};

template <typename Map>
void WriteMap(JsonWriter& json, std::string_view key, const Map& map) {
  json.Key(key);
  json.BeginObject();
  for (const auto& [name, value] : map) json.Field(name, value);
  json.EndObject();
}

template <typename List>
void WriteList(JsonWriter& json, std::string_view key, const List& list) {
  json.Key(key);
  json.BeginArray();
  for (const auto& value : list) json.Value(value);
  json.EndArray();
}

}  // namespace

const char* CopyDirectionName(CopyDirection direction) {
  static constexpr const char* kNames[] = {"unknown", "HtoD", "DtoH", "HtoA", "AtoH", "AtoA",
                                           "AtoD",    "DtoA", "DtoD", "HtoH", "PtoP"};
  const auto index = static_cast<size_t>(direction);
  return index < std::size(kNames) ? kNames[index] : "unknown";
}

void WriteJson(const ImportCounts& counts, JsonWriter& json) {
  const auto number = [&json](std::string_view key, const auto& value) {
    if (value) json.Field(key, *value);
  };
  const auto map = [&json](std::string_view key, const auto& value) {
    if (value) WriteMap(json, key, *value);
  };
  json.BeginObject();
  json.Field("format", counts.format);
  number("kernels", counts.kernels);
  number("kernels_timed", counts.kernels_timed);
  number("kernels_with_launch", counts.kernels_with_launch);
  number("kernels_without_launch", counts.kernels_without_launch);
  number("kernels_from_graph", counts.kernels_from_graph);
  number("kernel_time_us", counts.kernel_time_us);
  if (counts.kernel_start_ns) WriteList(json, "kernel_start_ns", *counts.kernel_start_ns);
  map("memcpy", counts.memcpy);
  number("memcpy_timed", counts.memcpy_timed);
  number("memsets", counts.memsets);
  number("cpu_ops", counts.cpu_ops);
  map("item_ops", counts.item_ops);
  number("steps", counts.steps);
  number("streams", counts.streams);
  number("devices", counts.devices);
  map("host_waits", counts.host_waits);
  number("host_wait_us", counts.host_wait_us);
  map("cuda_sync", counts.cuda_sync);
  number("device_side_waits", counts.device_side_waits);
  number("runtime_calls", counts.runtime_calls);
  number("driver_calls", counts.driver_calls);
  number("mallocs", counts.mallocs);
  number("frees", counts.frees);
  number("graph_launches", counts.graph_launches);
  for (const auto& [key, value] : counts.numbers) json.Field(key, value);
  for (const auto& [key, value] : counts.texts) json.Field(key, value);
  for (const auto& [key, value] : counts.lists) {
    if (value) {
      WriteList(json, key, *value);
    } else {
      json.Key(key);
      json.Null();
    }
  }
  for (const auto& [key, value] : counts.maps) WriteMap(json, key, value);
  WriteMap(json, "losses", counts.losses);
  WriteMap(json, "loss_details", counts.loss_details);
  WriteList(json, "notes", counts.notes);
  json.EndObject();
}

std::string ToJson(const ImportCounts& counts) {
  std::string text;
  JsonWriter json(&text);
  WriteJson(counts, json);
  // Writing to a string cannot fail.
  return json.Finish().ok() ? text : std::string();
}

absl::StatusOr<ImportCounts> CountCapture(CaptureReader& reader, const CountRules& rules) {
  Counter counter(reader, rules);
  SH_RETURN_IF_ERROR(reader.Read(Tables({Table::kLoss, Table::kRange, Table::kHostCall, Table::kKernel, Table::kCopy,
                                         Table::kMemset, Table::kSync}),
                                 counter));
  return counter.Finish();
}

}  // namespace stallhound::capture
