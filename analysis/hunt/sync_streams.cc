#include "analysis/hunt/sync_streams.h"

namespace stallhound::analysis {

void SyncStreams::Add(const capture::SyncBatch& batch) {
  for (size_t i = 0; i < batch.size; ++i) {
    if (batch.type[i] != capture::SyncType::kStreamSynchronize) continue;
    if (!batch.stream_id[i] || !batch.correlation_id[i]) continue;
    streams_[{batch.process_id[i], *batch.correlation_id[i]}] = {batch.context_id[i], *batch.stream_id[i]};
  }
}

StreamMoment SyncStreams::StreamOf(const SyncPoint& point) const {
  StreamMoment moment{point.process_id, point.context_id, point.stream_id, point.call_start_ns};
  if (point.is_stream_named || !point.correlation_id) return moment;
  const auto sync = streams_.find({point.process_id, *point.correlation_id});
  if (sync == streams_.end()) return moment;
  moment.stream_id = sync->second.stream_id;
  if (sync->second.context_id) moment.context_id = sync->second.context_id;
  return moment;
}

}  // namespace stallhound::analysis
