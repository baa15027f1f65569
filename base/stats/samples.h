#pragma once

// Summaries of one sample of measurements, in whatever unit the caller measures. Pure functions, safe from any thread.

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstdint>
#include <span>
#include <string_view>

namespace stallhound::stats {

// InvalidArgument if `samples` is empty or holds a NaN or an infinity. `action` ("take the median") and `name`
// ("baseline") begin the message.
absl::Status CheckSamples(std::string_view action, std::string_view name, std::span<const double> samples);

// As CheckSamples; also InvalidArgument for a value that is not positive, which no ratio can be taken of.
absl::Status CheckPositive(std::string_view action, std::string_view name, std::span<const double> samples);

// InvalidArgument unless 0 < probability < 1.
absl::Status CheckProbability(std::string_view action, std::string_view name, double probability);

// The middle value, or the mean of the middle two. Errors: as CheckSamples. O(n), copies the sample.
absl::StatusOr<double> Median(std::span<const double> samples);

// The same for samples known to be good, at least one; puts them in another order.
double MedianInPlace(std::span<double> samples);

struct MedianInterval {
  double median = 0;
  double low = 0;
  double high = 0;
  double confidence_ratio = 0;  // really held, at least the one asked for: order statistics come in steps
};

// The interval between two order statistics that covers the median of any continuous distribution with at least
// `confidence_ratio` (H. A. David, H. N. Nagaraja, Order Statistics, 3rd ed., 2003, section 7.1); with ties it covers
// more often. Errors: as CheckSamples; InvalidArgument for a confidence outside (0, 1) or fewer than
// LeastSampleCount(confidence_ratio) samples, whose interval would be infinite. O(n log n).
absl::StatusOr<MedianInterval> IntervalOfMedian(std::span<const double> samples, double confidence_ratio);

// Fewest samples for which an interval of the median is finite: 6 for 0.95. Wants 0 < confidence_ratio < 1.
int64_t LeastSampleCount(double confidence_ratio);

}  // namespace stallhound::stats
