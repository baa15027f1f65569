#pragma once

// How much larger the median of one sample is than that of another, with an interval. Pure functions, safe from any
// thread.

#include <absl/status/statusor.h>

#include <cstdint>
#include <span>

namespace stallhound::stats {

inline constexpr int64_t kResampleCount = 2000;

struct BootstrapOptions {
  double confidence_ratio = 0.95;
  uint64_t seed = 1;  // the same seed and samples give the same interval on every machine
};

struct RatioInterval {
  double ratio = 1;  // median of the candidate over median of the baseline
  double low = 1;
  double high = 1;
};

// Percentile bootstrap: both sides are drawn anew kResampleCount times, value by value (B. Efron, Ann. Statist. 7
// (1979) 1-26; B. Efron, R. J. Tibshirani, An Introduction to the Bootstrap, 1993, section 13.3). The values must be
// independent: give medians of rounds, not the iterations of one process.
// Errors: InvalidArgument for an empty side, NaN, infinity, a value that is not positive, a confidence outside (0, 1),
// or a side of fewer than LeastSampleCount(confidence) samples, which cannot hold that confidence.
// O(kResampleCount * n), about 1 ms for 16 a side.
absl::StatusOr<RatioInterval> IntervalOfMedianRatio(std::span<const double> baseline, std::span<const double> candidate,
                                                    const BootstrapOptions& options);

}  // namespace stallhound::stats
