#include "analysis/hunt/own_time.h"

#include <algorithm>

#include "base/units.h"

namespace stallhound::analysis {
namespace {

using capture::ApiClass;
using capture::OverheadKind;
using capture::Table;

// Mean host time of a callback of the recorder, as it measured it.
constexpr char kCallbackKey[] = "recorder.callback_ns";
// The first callbacks of a process ready the unwinder and load its tables, for milliseconds: in a short recording with
// native stacks they make the mean 40 to 70 us, where H200 recordings with Python stacks have 2.3 to 4.4 us. More than
// this is taken for theirs and is not charged to each call.
constexpr int64_t kMostCallbackNs = 5'000;

bool IsOwn(OverheadKind kind) {
  return kind == OverheadKind::kBufferFlush || kind == OverheadKind::kInstrumentation ||
         kind == OverheadKind::kResource || kind == OverheadKind::kActivityBufferRequest;
}

bool SubmitsWork(ApiClass api_class) {
  return api_class == ApiClass::kKernelLaunch || api_class == ApiClass::kGraphLaunch ||
         api_class == ApiClass::kMemset || api_class == ApiClass::kCopyAsync || api_class == ApiClass::kCopyBlocking;
}

}  // namespace

OwnTime::OwnTime(const capture::CaptureReader& reader, const MeasuredSpans& spans)
    : reader_(reader),
      spans_(spans),
      launch_ns_(reader.info().recorded.test(static_cast<size_t>(Table::kKernel)) ? kOwnLaunchNs : 0) {}

capture::TableSet OwnTime::WantedCosts() { return capture::Tables({Table::kEnvironment, Table::kOverhead}); }
capture::TableSet OwnTime::WantedCalls() { return capture::Tables({Table::kHostCall}); }

absl::Status OwnTime::On(const capture::EnvironmentBatch& batch) {
  for (size_t i = 0; i < batch.size; ++i) {
    if (!batch.process_id[i] || reader_.strings().Get(batch.key[i]) != kCallbackKey) continue;
    const int64_t mean_ns = ParseInteger(reader_.strings().Get(batch.value[i])).value_or(0);
    callback_ns_[*batch.process_id[i]] = std::min(mean_ns, kMostCallbackNs);
  }
  return absl::OkStatus();
}

absl::Status OwnTime::On(const capture::OverheadBatch& batch) {
  for (size_t i = 0; i < batch.size && is_known(); ++i) {
    if (!batch.thread_id[i] || !IsOwn(batch.kind[i])) continue;
    threads_[*batch.thread_id[i]].overhead.Add(batch.start_ns[i], batch.end_ns[i]);
    if (spans_.Find(batch.process_id[i], batch.start_ns[i])) total_ns_ += batch.end_ns[i] - batch.start_ns[i];
  }
  return absl::OkStatus();
}

absl::Status OwnTime::On(const capture::HostCallBatch& batch) {
  for (size_t i = 0; i < batch.size && is_known(); ++i) {
    const bool is_measured = spans_.Find(batch.process_id[i], batch.start_ns[i]).has_value();
    if (is_measured && !batch.is_nested[i] && SubmitsWork(batch.api_class[i])) total_ns_ += launch_ns_;
    // Calls with a stack were seen in a callback at their entry, and in one at their return.
    const auto cost = callback_ns_.find(batch.process_id[i]);
    if (!batch.stack_id[i] || cost == callback_ns_.end()) continue;
    Thread& thread = threads_[batch.thread_id[i]];
    thread.callback_ns = cost->second;
    thread.callbacks_ns.push_back(batch.start_ns[i]);
    thread.callbacks_ns.push_back(batch.end_ns[i]);
    if (is_measured) total_ns_ += 2 * cost->second;
  }
  return absl::OkStatus();
}

void OwnTime::Finish() {
  for (auto& [id, thread] : threads_) std::sort(thread.callbacks_ns.begin(), thread.callbacks_ns.end());
}

int64_t OwnTime::In(uint32_t thread_id, const Interval& span) const {
  const auto it = threads_.find(thread_id);
  if (it == threads_.end() || span.end_ns <= span.start_ns) return 0;
  const Thread& thread = it->second;
  const auto first = std::lower_bound(thread.callbacks_ns.begin(), thread.callbacks_ns.end(), span.start_ns);
  const auto last = std::lower_bound(first, thread.callbacks_ns.end(), span.end_ns);
  const BusyTime* overhead = &thread.overhead;
  const int64_t overhead_ns =
      overhead->empty() ? 0 : span.end_ns - span.start_ns - GapsIn({&overhead, 1}, span).total_ns;
  return (last - first) * thread.callback_ns + overhead_ns;
}

}  // namespace stallhound::analysis
