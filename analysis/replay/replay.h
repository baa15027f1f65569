#pragma once

// Runs a replay model again, with some waits taken away.

#include <cstdint>
#include <vector>

#include "analysis/replay/model.h"

namespace stallhound::analysis {

struct ReplayResult {
  // By ReplayModel::spans, ns: from all that the group of threads submitted before the start being done, on the host
  // and on the GPU, to all that it submitted before the end being done. Spans that follow each other add up.
  std::vector<int64_t> span_ns;
  std::vector<int64_t> recorded_span_ns;  // the same in the recording
  int64_t end_ns = 0;                     // when the last of host and GPU ends
};

// `is_removed` by sync point; may be empty (nothing removed). A removed wait costs no host time: neither the blocked
// part nor the call. The copies that it took in stay as GPU work, submitted when the host arrives. All else keeps its
// host time, its duration on the GPU and its order; a launch waits while its stream holds queue_limit submissions that
// have not started. Cost: one pass, about 20 ns a work. Thread-safe for one model.
ReplayResult Replay(const ReplayModel& model, const std::vector<char>& is_removed);

}  // namespace stallhound::analysis
