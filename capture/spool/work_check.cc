#include "capture/spool/work_check.h"

#include <algorithm>

#include "capture/spool/time_difference.h"
#include "capture/types.h"

namespace stallhound::capture::spool {
namespace {

uint64_t StreamKey(uint32_t context_id, uint32_t stream_id) { return uint64_t{context_id} << 32 | stream_id; }

}  // namespace

void Occurrences::Add(int64_t start_ns, int64_t end_ns) {
  ++count;
  first_ns = std::min(first_ns, start_ns);
  last_ns = std::max(last_ns, end_ns);
}

void WorkCheck::AddSync(const SyncRecord& sync) {
  const bool is_context = sync.type == static_cast<uint32_t>(SyncType::kContextSynchronize);
  if (sync.return_value != 0) return;
  if (!is_context && sync.type != static_cast<uint32_t>(SyncType::kStreamSynchronize)) return;
  syncs_[StreamKey(sync.context_id, is_context ? kNone32 : sync.stream_id)].push_back({sync.start_ns, sync.end_ns});
  is_sorted_ = false;
}

void WorkCheck::SortSyncs() {
  for (auto& [key, syncs] : syncs_) {
    std::sort(syncs.begin(), syncs.end(), [](const SyncSpan& a, const SyncSpan& b) { return a.start_ns < b.start_ns; });
  }
  is_sorted_ = true;
}

template <typename Record>
void WorkCheck::TakeWork(const Record& record) {
  if (!is_sorted_) SortSyncs();
  const Launch* launch = launches_.FindForWork(record.correlation_id);
  if (launch == nullptr) return work_without_launch_.Add(record.start_ns, record.end_ns);
  int64_t& last_ns = last_of_thread_[launch->thread_index];
  last_ns = std::max(last_ns, record.end_ns);
  int64_t error_ns = std::max<int64_t>(TimeDifference(launch->start_ns, record.start_ns), 0);
  for (const uint32_t stream_id : {record.stream_id, kNone32}) {
    const auto syncs = syncs_.find(StreamKey(record.context_id, stream_id));
    if (syncs == syncs_.end()) continue;
    const auto sync = std::lower_bound(syncs->second.begin(), syncs->second.end(), launch->end_ns(),
                                       [](const SyncSpan& span, int64_t time_ns) { return span.start_ns < time_ns; });
    if (sync != syncs->second.end()) error_ns = std::max(error_ns, TimeDifference(record.end_ns, sync->end_ns));
  }
  if (error_ns > 0) violations_.Add(record.start_ns, record.end_ns);
  clock_error_ns_ = std::max(clock_error_ns_.value_or(0), error_ns);
}

template void WorkCheck::TakeWork(const KernelRecord&);
template void WorkCheck::TakeWork(const CopyRecord&);
template void WorkCheck::TakeWork(const MemsetRecord&);

Occurrences WorkCheck::LaunchesWithoutWork() const {
  Occurrences launches;
  launches_.ForEach([&](const Launch& launch) {
    if (launch.is_kernel_launch != 0 && launch.has_work == 0) launches.Add(launch.start_ns, launch.end_ns());
  });
  return launches;
}

}  // namespace stallhound::capture::spool
