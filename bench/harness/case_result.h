#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/harness/sampling.h"

namespace stallhound::bench {

// All that is known of one case after its run.
struct CaseResult {
  std::optional<std::string> checked_shape;  // unset: not checked in this process
  int64_t input_set_count = 0;
  std::vector<Sample> samples;  // empty in a recording pass
  bool is_stable = false;
  std::optional<int64_t> recorded_iteration_ns;  // of a recording pass: wall time of an iteration and its wait
  std::optional<std::string> copy_method;
  std::string copy_problem;  // why copy_method is unknown
  std::vector<Sample> graph_samples;
  std::string graph_problem;  // why there are none
  std::optional<uint64_t> throttle_reasons;
};

}  // namespace stallhound::bench
