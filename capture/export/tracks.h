#pragma once

// The tracks of an export: made when their first slice comes, named after processes, threads, GPUs and streams.

#include <absl/container/flat_hash_map.h>
#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "capture/export/export.h"
#include "capture/export/lanes.h"
#include "capture/export/trace_sink.h"
#include "capture/reader.h"

namespace stallhound::capture {

// What a track shows; tracks of one thread or stream are told apart by it.
enum class Content : uint8_t {
  kCalls,
  kRanges,
  kFreeRanges,
  kOverheads,
  kGaps,
  kKernels,
  kCopies,
  kMemsets,
  kGraphs,
  kExtra,
};

enum class Group : uint8_t { kAnalysis, kProcess, kDevice };

// Group, its id, thread or stream (of kAnalysis: index of the extra track), content.
using TrackKey = std::tuple<Group, uint32_t, uint32_t, Content>;

// Not thread-safe; the arguments must outlive it.
class TrackTable {
 public:
  TrackTable(const StringTable& strings, const std::vector<ExtraTrack>& extra_tracks, TraceSink& sink)
      : strings_(strings), extra_tracks_(extra_tracks), sink_(sink) {}

  void Add(const ProcessBatch& batch);
  void Add(const ThreadBatch& batch);
  void Add(const DeviceBatch& batch);

  // Finds the slice's place (`slice.track` is filled here) and writes it. Slices of one key come by start.
  absl::Status Add(const TrackKey& key, Slice slice);
  int64_t slice_count() const { return slice_count_; }

 private:
  struct TrackState {
    Lanes lanes;
    std::vector<TrackId> ids;  // by lane
  };

  absl::StatusOr<TrackId> NewTrack(const TrackKey& key, size_t lane);
  absl::StatusOr<TrackId> GroupTrack(Group group, uint32_t id);
  int64_t NewTid(const TrackKey& key, size_t lane, int64_t pid);
  std::string TrackName(const TrackKey& key, size_t lane) const;

  const StringTable& strings_;
  const std::vector<ExtraTrack>& extra_tracks_;
  TraceSink& sink_;
  int64_t slice_count_ = 0;
  TrackId track_count_ = 0;
  int64_t made_tid_count_ = 0;
  std::set<std::pair<int64_t, int64_t>> tids_;  // (pid, tid) of the tracks
  std::map<TrackKey, TrackState> tracks_;
  std::map<std::pair<Group, uint32_t>, TrackId> groups_;
  absl::flat_hash_map<uint32_t, ProcessRow> processes_;
  absl::flat_hash_map<uint32_t, ThreadRow> threads_;
  absl::flat_hash_map<uint32_t, DeviceRow> devices_;
};

}  // namespace stallhound::capture
