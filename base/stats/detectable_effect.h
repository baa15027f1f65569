#pragma once

// The smallest change that a comparison of two samples could have seen. Pure functions, safe from any thread.

#include <absl/status/statusor.h>

#include <cstdint>
#include <optional>
#include <span>

namespace stallhound::stats {

// A change is seen if a one-sided rank test gives p <= alpha and the ratio of medians, or its whole interval, lies
// above 1 + margin_ratio.
struct DetectionRule {
  double alpha = 0.05;
  double margin_ratio = 0;
  std::optional<double> interval_confidence_ratio;  // null: the ratio alone must exceed the margin
  double power_ratio = 0.9;                         // how often each of the two shall hold
};

// As a ratio: 0.02 is a rise of the median by 2%. The spread comes from both samples, each about its own median, by
// their median absolute deviation, so that a few outliers do not hide what the test can see (P. J. Rousseeuw, C. Croux,
// JASA 88 (1993) 1273-1283). Rank test: the variance of its statistic under a shift of normal noise (E. L. Lehmann,
// Nonparametrics, 1975, section 2.3); interval: the normal approximation of a median's error. As uncertain as the
// spread itself, by a fifth at 8 a side; too small for samples of several modes, of which the deviation sees one. Null:
// samples of these sizes give no p <= alpha, whatever the change. Errors: InvalidArgument for an empty side, NaN,
// infinity, a value that is not positive, or alpha, power or confidence outside (0, 1). O(n), under 1 ms.
absl::StatusOr<std::optional<double>> MinimumDetectableEffect(std::span<const double> baseline,
                                                              std::span<const double> candidate,
                                                              const DetectionRule& rule);

}  // namespace stallhound::stats
