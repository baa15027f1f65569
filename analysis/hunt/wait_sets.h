#pragma once

// What each sync point waited for: the work submitted to a stream (the legacy null stream: to all blocking streams of
// its context; no stream: to all of the context) until a moment, and what that stream had been told to wait for.

#include <absl/container/flat_hash_map.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <tuple>
#include <vector>

#include "analysis/hunt/directory.h"
#include "analysis/hunt/sync_points.h"

namespace stallhound::analysis {

// Add everything, Prepare, then give the work, then ask. Memory: 40 bytes a point, about 200 a stream wait.
class WaitSets {
 public:
  // The waits for one set of streams. Work belongs to all lanes of its stream.
  class Lane;
  using Lanes = std::vector<Lane*>;

  explicit WaitSets(const Directory& directory);
  ~WaitSets();

  // Point `index` waits for `until` and returns at `return_ns`.
  void AddPoint(size_t index, const StreamMoment& until, int64_t return_ns);
  void AddStreamWait(const StreamWait& wait);
  void Prepare();

  // The lanes of work on a stream; valid as long as this.
  Lanes LanesOf(uint32_t process_id, std::optional<uint32_t> context_id, uint32_t stream_id) const;
  // Work with a known launch.
  static void Add(const Lanes& lanes, int64_t launch_ns, int64_t end_ns);
  // Work whose launch is not recorded. The host that waits cannot launch, so what ends inside a wait for its stream was
  // waited for.
  static void AddUnknown(const Lanes& lanes, int64_t start_ns, int64_t end_ns);

  // The ends of the last work awaited, by point; null: none is known.
  std::vector<std::optional<int64_t>> Finish(size_t point_count);

 private:
  using Key = std::tuple<uint32_t, uint32_t, uint32_t>;  // process, context (0: unknown), stream or set of streams

  Key KeyOf(const StreamMoment& moment) const;
  Lane& LaneOf(const StreamMoment& moment);

  const Directory& directory_;
  absl::flat_hash_map<Key, std::unique_ptr<Lane>> lanes_;
  std::vector<StreamWait> stream_waits_;
};

}  // namespace stallhound::analysis
