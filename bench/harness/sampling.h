#pragma once

// How often a case is measured: the stopping rule, apart from what is measured and on which clock. The rule is
// NVBench's idea (stop when the noise is small, or after a while) with an interval of the median instead of the
// standard deviation, which a single outlier spoils.

#include <absl/status/statusor.h>

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/clock.h"

namespace stallhound::bench {

struct Sample {
  int64_t time_ns = 0;                 // of one iteration; on CUDA between two events, with the launches hidden
  int64_t host_ns = 0;                 // the host's part: until the iteration's last call returned
  std::optional<int64_t> sm_clock_hz;  // mean over the sample, of all SMs; nullopt on the CPU
  std::optional<int64_t> copy_ns;      // of a copy of the same bytes, directly after the iteration
};

class Sampler {
 public:
  virtual ~Sampler() = default;
  // Measures one iteration. Whatever error it returns ends the case.
  virtual absl::StatusOr<Sample> Take() = 0;
  // Bits of base/nvml seen active so far; nullopt if unknown.
  virtual std::optional<uint64_t> ThrottleReasons() const { return std::nullopt; }
};

struct StoppingRule {
  int64_t warmup_count = 3;  // samples thrown away first
  int64_t min_count = 10;
  int64_t min_elapsed_ns = 500'000'000;
  int64_t max_elapsed_ns = 15'000'000'000;  // then it ends, whatever is missing
  double interval_ratio = 0.005;            // how far the ends of the median's interval may lie from the median
};

// The rule with another least time; the longest stays as many times that.
StoppingRule ShortenedRule(const StoppingRule& rule, int64_t min_elapsed_ns);

struct SampleSet {
  std::vector<Sample> samples;  // at least one
  bool is_stable = false;       // false: ended by max_elapsed_ns
};

// Samples until the rule says enough. Elapsed time counts from the end of the warm-up and includes what the sampler
// does around an iteration. The interval is looked at whenever the count has grown by a tenth, so that looking costs
// little. Errors: the sampler's.
absl::StatusOr<SampleSet> TakeSamples(Sampler& sampler, const Clock& clock, const StoppingRule& rule);

// The middle value, of an even number the mean of the middle two. At least one value.
double Median(std::vector<int64_t> values);

// The larger distance of the ends of the median's 95% interval from the median, divided by the median. The interval
// lies between two order statistics (H. A. David, H. N. Nagaraja, Order Statistics, 3rd ed., section 7.1; the normal
// approximation of the binomial ranks). nullopt for fewer than 6 values, whose interval is infinite, and for a median
// of 0.
std::optional<double> MedianIntervalRatio(std::vector<int64_t> values);

}  // namespace stallhound::bench
