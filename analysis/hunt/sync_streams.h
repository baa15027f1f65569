#pragma once

// Streams of syncs by CUPTI's records, for host calls that name none, as those of Kineto's traces.

#include <absl/container/flat_hash_map.h>

#include <cstdint>
#include <optional>
#include <utility>

#include "analysis/hunt/sync_points.h"
#include "capture/reader.h"

namespace stallhound::analysis {

// Memory: 32 bytes a stream sync.
class SyncStreams {
 public:
  void Add(const capture::SyncBatch& batch);

  // What a point of WaitScope::kStream waits for, at the entry of its call: the stream that the call names, else that
  // of its sync's record, else that of its copies.
  StreamMoment StreamOf(const SyncPoint& point) const;

 private:
  struct Stream {
    std::optional<uint32_t> context_id;
    uint32_t stream_id;
  };
  absl::flat_hash_map<std::pair<uint32_t, uint64_t>, Stream> streams_;  // by process, correlation
};

}  // namespace stallhound::analysis
