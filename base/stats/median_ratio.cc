#include "base/stats/median_ratio.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string_view>
#include <vector>

#include "base/stats/samples.h"
#include "base/status_macros.h"

namespace stallhound::stats {
namespace {

constexpr std::string_view kAction = "bootstrap a ratio of medians";

absl::Status CheckSide(std::string_view name, std::span<const double> samples, double confidence_ratio) {
  SH_RETURN_IF_ERROR(CheckPositive(kAction, name, samples));
  const int64_t least = LeastSampleCount(confidence_ratio);
  if (static_cast<int64_t>(samples.size()) >= least) return absl::OkStatus();
  return absl::InvalidArgumentError(
      fmt::format("cannot {}: {} has {} samples, and an interval of confidence {} needs {}", kAction, name,
                  samples.size(), confidence_ratio, least));
}

// std::uniform_int_distribution differs between standard libraries; the engine does not.
size_t Below(size_t bound, std::mt19937_64& random) { return static_cast<size_t>(((random() >> 32) * bound) >> 32); }

double ResampledMedian(std::span<const double> samples, std::mt19937_64& random, std::vector<double>& drawn) {
  drawn.resize(samples.size());
  for (double& value : drawn) value = samples[Below(samples.size(), random)];
  return MedianInPlace(drawn);
}

}  // namespace

absl::StatusOr<RatioInterval> IntervalOfMedianRatio(std::span<const double> baseline, std::span<const double> candidate,
                                                    const BootstrapOptions& options) {
  SH_RETURN_IF_ERROR(CheckProbability(kAction, "confidence_ratio", options.confidence_ratio));
  SH_RETURN_IF_ERROR(CheckSide("baseline", baseline, options.confidence_ratio));
  SH_RETURN_IF_ERROR(CheckSide("candidate", candidate, options.confidence_ratio));
  SH_ASSIGN_OR_RETURN(const double baseline_median, Median(baseline));
  SH_ASSIGN_OR_RETURN(const double candidate_median, Median(candidate));

  std::mt19937_64 random(options.seed);
  std::vector<double> ratios, drawn;
  ratios.reserve(kResampleCount);
  for (int64_t i = 0; i < kResampleCount; ++i) {
    const double baseline_draw = ResampledMedian(baseline, random, drawn);
    ratios.push_back(ResampledMedian(candidate, random, drawn) / baseline_draw);
  }
  std::sort(ratios.begin(), ratios.end());
  const double outside = (1 - options.confidence_ratio) / 2 * static_cast<double>(kResampleCount + 1);
  const auto rank = static_cast<size_t>(std::max(1.0, std::floor(outside)));
  return RatioInterval{candidate_median / baseline_median, ratios[rank - 1], ratios[ratios.size() - rank]};
}

}  // namespace stallhound::stats
