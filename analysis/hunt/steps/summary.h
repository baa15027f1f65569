#pragma once

// What a report says of the steps of a recording: plain values.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace stallhound::analysis {

enum class StepSource : uint8_t {
  kNone,      // no steady state found
  kNvtx,      // a range that repeats
  kSequence,  // the repeating sequence of kernels and calls
};

// "none", "nvtx", "sequence".
const char* StepSourceName(StepSource source);

// What happened outside the measured steps and not as often inside.
struct OneOffCost {
  std::string what;  // "module loading", "device allocation", ...
  int64_t count = 0;
  int64_t host_ns = 0;
};

struct StepsSummary {
  StepSource source = StepSource::kNone;
  std::optional<std::string> range;  // kNvtx: its name, numbers as "#"
  int64_t found_count = 0;           // of all processes
  int64_t warm_up_count = 0;         // first steps with loading, allocation or other counts
  int64_t other_count = 0;           // later steps with other content: evaluation, a short last batch
  int64_t measured_count = 0;
  std::optional<int64_t> period_ns;       // median from start to start of steady steps; processes: the longest
  std::optional<double> explained_ratio;  // of what was submitted from the first to the last step, the part repeated
  std::optional<std::string> reason;      // why none was found
  std::vector<OneOffCost> one_off_costs;  // most host time first
};

// "Found 20 steps of 4.3 ms (kernel sequence), 5 of them warm-up; 15 measured." and the one-off costs, or why there is
// no steady state.
std::vector<std::string> StepsSentences(const StepsSummary& summary);

}  // namespace stallhound::analysis
