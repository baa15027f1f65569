#include "bench/harness/sampling.h"

#include <absl/algorithm/container.h>

#include <algorithm>
#include <cmath>

#include "base/status_macros.h"

namespace stallhound::bench {
namespace {

constexpr double kNormalQuantile = 1.96;  // two-sided 95%
constexpr size_t kMinIntervalCount = 6;   // 1 - 2 * 0.5^6 = 96.9%; of 5 values min and max cover 93.8% only

bool IsPrecise(const std::vector<Sample>& samples, double allowed_ratio) {
  std::vector<int64_t> times;
  times.reserve(samples.size());
  for (const Sample& sample : samples) times.push_back(sample.time_ns);
  const std::optional<double> ratio = MedianIntervalRatio(std::move(times));
  return ratio && *ratio <= allowed_ratio;
}

double SortedMedian(const std::vector<int64_t>& sorted) {
  const size_t middle = sorted.size() / 2;
  if (sorted.size() % 2 == 1) return static_cast<double>(sorted[middle]);
  return (static_cast<double>(sorted[middle - 1]) + static_cast<double>(sorted[middle])) / 2;
}

}  // namespace

StoppingRule ShortenedRule(const StoppingRule& rule, int64_t min_elapsed_ns) {
  StoppingRule shortened = rule;
  const int64_t factor = rule.max_elapsed_ns / rule.min_elapsed_ns;
  shortened.min_elapsed_ns = min_elapsed_ns;
  shortened.max_elapsed_ns = min_elapsed_ns > INT64_MAX / factor ? INT64_MAX : min_elapsed_ns * factor;
  return shortened;
}

absl::StatusOr<SampleSet> TakeSamples(Sampler& sampler, const Clock& clock, const StoppingRule& rule) {
  for (int64_t i = 0; i < rule.warmup_count; ++i) SH_RETURN_IF_ERROR(sampler.Take().status());
  SampleSet set;
  const int64_t start_ns = clock.MonotonicNs();
  int64_t next_look = rule.min_count;
  while (true) {
    SH_ASSIGN_OR_RETURN(const Sample sample, sampler.Take());
    set.samples.push_back(sample);
    const int64_t elapsed_ns = clock.MonotonicNs() - start_ns;
    const auto count = static_cast<int64_t>(set.samples.size());
    if (count >= next_look && elapsed_ns >= rule.min_elapsed_ns) {
      set.is_stable = IsPrecise(set.samples, rule.interval_ratio);
      next_look = count + std::max<int64_t>(1, count / 10);
    }
    if (set.is_stable || elapsed_ns >= rule.max_elapsed_ns) return set;
  }
}

double Median(std::vector<int64_t> values) {
  absl::c_sort(values);
  return SortedMedian(values);
}

std::optional<double> MedianIntervalRatio(std::vector<int64_t> values) {
  if (values.size() < kMinIntervalCount) return std::nullopt;
  absl::c_sort(values);
  const double median = SortedMedian(values);
  if (median == 0) return std::nullopt;
  const auto count = static_cast<double>(values.size());
  // The 1 is a continuity correction: with it the exact coverage is at least 95% for every count up to 1000.
  const auto low = static_cast<size_t>(std::max(0.0, std::floor((count - 1 - kNormalQuantile * std::sqrt(count)) / 2)));
  const double below = median - static_cast<double>(values[low]);
  const double above = static_cast<double>(values[values.size() - 1 - low]) - median;
  return std::max(below, above) / median;
}

}  // namespace stallhound::bench
