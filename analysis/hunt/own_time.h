#pragma once

// Host time that recording itself took, for our own recordings: what the recorder measured in its callbacks, CUPTI's
// overhead records, and a constant for each piece of GPU work that was submitted, since CUPTI's part of a launch can be
// neither seen nor measured while the program runs.

#include <absl/container/flat_hash_map.h>

#include <cstdint>
#include <vector>

#include "analysis/hunt/intervals.h"
#include "analysis/hunt/measured.h"
#include "capture/reader.h"

namespace stallhound::analysis {

// What recording adds to a launch, copy or memset whose GPU record is wanted. H200, CUPTI 13.0, 2026-11-30, 200 blocks
// of 2,000 one-element adds with and without (ci/device/steps/overhead.py).
inline constexpr int64_t kOwnLaunchNs = 750;

class OwnTime : public capture::CaptureVisitor {
 public:
  // `spans` are the measured ones and outlive this.
  OwnTime(const capture::CaptureReader& reader, const MeasuredSpans& spans);

  // Two reads, in this order. Memory: 16 bytes for each call that the recorder saw in a callback.
  static capture::TableSet WantedCosts();
  static capture::TableSet WantedCalls();
  absl::Status On(const capture::EnvironmentBatch& batch) override;
  absl::Status On(const capture::OverheadBatch& batch) override;
  absl::Status On(const capture::HostCallBatch& batch) override;
  // Once, after the reads.
  void Finish();

  // False for recordings without the recorder's own counters, as other tools' are: their cost is not known.
  bool is_known() const { return !callback_ns_.empty(); }
  // In the measured spans, over all threads.
  int64_t total_ns() const { return total_ns_; }
  // On one thread, launches left out.
  int64_t In(uint32_t thread_id, const Interval& span) const;

 private:
  struct Thread {
    int64_t callback_ns = 0;
    std::vector<int64_t> callbacks_ns;  // when each began
    BusyTime overhead;
  };

  const capture::CaptureReader& reader_;
  const MeasuredSpans& spans_;
  const int64_t launch_ns_;                             // 0 if no GPU record is wanted
  absl::flat_hash_map<uint32_t, int64_t> callback_ns_;  // by process: mean of a callback
  absl::flat_hash_map<uint32_t, Thread> threads_;
  int64_t total_ns_ = 0;
};

}  // namespace stallhound::analysis
