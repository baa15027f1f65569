#include "base/stats/samples.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/math/distributions/binomial.hpp>
#include <cmath>
#include <numeric>
#include <vector>

#include "base/status_macros.h"

namespace stallhound::stats {
namespace {

// Probability that at most `count` of `size` values lie below the median.
double AtMostBelowMedian(int64_t count, int64_t size) {
  const boost::math::binomial_distribution<double> below(static_cast<double>(size), 0.5);
  return boost::math::cdf(below, static_cast<double>(count));
}

}  // namespace

absl::Status CheckSamples(std::string_view action, std::string_view name, std::span<const double> samples) {
  if (samples.empty()) return absl::InvalidArgumentError(fmt::format("cannot {}: {} has no samples", action, name));
  const auto bad =
      std::find_if_not(samples.begin(), samples.end(), [](double sample) { return std::isfinite(sample); });
  if (bad == samples.end()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      fmt::format("cannot {}: sample {} of {} is {}, not a finite number", action, bad - samples.begin(), name, *bad));
}

absl::Status CheckPositive(std::string_view action, std::string_view name, std::span<const double> samples) {
  SH_RETURN_IF_ERROR(CheckSamples(action, name, samples));
  const auto bad = std::find_if(samples.begin(), samples.end(), [](double sample) { return sample <= 0; });
  if (bad == samples.end()) return absl::OkStatus();
  return absl::InvalidArgumentError(fmt::format("cannot {}: sample {} of {} is {}; a ratio needs positive values",
                                                action, bad - samples.begin(), name, *bad));
}

absl::Status CheckProbability(std::string_view action, std::string_view name, double probability) {
  if (probability > 0 && probability < 1) return absl::OkStatus();
  return absl::InvalidArgumentError(
      fmt::format("cannot {}: {} is {}; it must lie between 0 and 1", action, name, probability));
}

absl::StatusOr<double> Median(std::span<const double> samples) {
  SH_RETURN_IF_ERROR(CheckSamples("take the median", "the input", samples));
  std::vector<double> copy(samples.begin(), samples.end());
  return MedianInPlace(copy);
}

double MedianInPlace(std::span<double> samples) {
  const auto upper = samples.begin() + static_cast<ptrdiff_t>(samples.size() / 2);
  std::nth_element(samples.begin(), upper, samples.end());
  if (samples.size() % 2 == 1) return *upper;
  return std::midpoint(*std::max_element(samples.begin(), upper), *upper);
}

absl::StatusOr<MedianInterval> IntervalOfMedian(std::span<const double> samples, double confidence_ratio) {
  constexpr std::string_view kAction = "take the interval of a median";
  SH_RETURN_IF_ERROR(CheckProbability(kAction, "confidence_ratio", confidence_ratio));
  MedianInterval interval;
  SH_ASSIGN_OR_RETURN(interval.median, Median(samples));
  const auto size = static_cast<int64_t>(samples.size());
  if (const int64_t least = LeastSampleCount(confidence_ratio); size < least) {
    return absl::InvalidArgumentError(
        fmt::format("cannot {}: {} samples, and a finite interval of confidence {} needs {}", kAction, size,
                    confidence_ratio, least));
  }
  // The median lies below the k-th smallest (from 0) if at most k values lie below the median.
  int64_t inner = 0;
  for (int64_t outer = (size - 1) / 2; inner < outer;) {
    const int64_t middle = inner + (outer - inner + 1) / 2;
    if (2 * AtMostBelowMedian(middle, size) <= 1 - confidence_ratio) {
      inner = middle;
    } else {
      outer = middle - 1;
    }
  }
  std::vector<double> sorted(samples.begin(), samples.end());
  std::sort(sorted.begin(), sorted.end());
  interval.low = sorted[static_cast<size_t>(inner)];
  interval.high = sorted[static_cast<size_t>(size - 1 - inner)];
  interval.confidence_ratio = 1 - 2 * AtMostBelowMedian(inner, size);
  return interval;
}

int64_t LeastSampleCount(double confidence_ratio) {
  int64_t count = 1;
  for (double outside = 1; outside > 1 - confidence_ratio; outside /= 2) ++count;
  return count;
}

}  // namespace stallhound::stats
