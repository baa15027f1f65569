#include "analysis/gate/counts.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

#include "base/status_macros.h"

namespace stallhound::analysis::gate {
namespace {

std::string_view FamilyOf(std::string_view name) { return name.substr(0, name.find(':')); }

bool Contains(const std::vector<std::string>& families, std::string_view family) {
  return std::find(families.begin(), families.end(), family) != families.end();
}

absl::Status Check(const RecordedCounts& recorded) {
  std::set<std::string_view> names;
  for (const CountSeries& series : recorded.series) {
    if (!names.insert(series.name).second) {
      return absl::InvalidArgumentError(
          fmt::format("cannot find the steady iterations: '{}' occurs twice", series.name));
    }
    if (series.per_iteration.size() != recorded.iterations.size()) {
      return absl::InvalidArgumentError(fmt::format("cannot find the steady iterations: '{}' has {} iterations of {}",
                                                    series.name, series.per_iteration.size(),
                                                    recorded.iterations.size()));
    }
    for (const int64_t count : series.per_iteration) {
      if (count >= 0) continue;
      return absl::InvalidArgumentError(
          fmt::format("cannot find the steady iterations: '{}' has a count of {}", series.name, count));
    }
  }
  return absl::OkStatus();
}

bool EverRepeats(const CountSeries& series) {
  return std::adjacent_find(series.per_iteration.begin(), series.per_iteration.end()) != series.per_iteration.end();
}

bool IsSettled(const IterationMarks& marks) {
  return !marks.has_module_load && !marks.has_autotuning && !marks.has_allocator_growth;
}

// First iteration behind a settled pair; null if there is none.
std::optional<size_t> WindowStart(const RecordedCounts& recorded) {
  std::vector<const CountSeries*> deciding;
  for (const CountSeries& series : recorded.series) {
    if (EverRepeats(series)) deciding.push_back(&series);
  }
  for (size_t i = 0; i + 1 < recorded.iterations.size(); ++i) {
    const bool is_steady = IsSettled(recorded.iterations[i]) && IsSettled(recorded.iterations[i + 1]) &&
                           std::all_of(deciding.begin(), deciding.end(), [i](const CountSeries* series) {
                             return series->per_iteration[i] == series->per_iteration[i + 1];
                           });
    if (is_steady) return i + 2;
  }
  return std::nullopt;
}

// The range of a name; null where its events were not recorded.
std::optional<CountRange> RangeOf(const WindowCounts& window, const std::map<std::string_view, CountRange>& ranges,
                                  std::string_view name) {
  if (window.problem) return std::nullopt;
  if (const auto found = ranges.find(name); found != ranges.end()) return found->second;
  if (Contains(window.recorded_families, FamilyOf(name))) return CountRange{};
  return std::nullopt;
}

std::map<std::string_view, CountRange> RangesOf(const WindowCounts& window) {
  std::map<std::string_view, CountRange> ranges;
  for (const WindowCount& count : window.counts) ranges.emplace(count.name, count.per_iteration);
  return ranges;
}

void Judge(CountVerdict& verdict) {
  const auto set = [&](Answer answer, Reason reason) {
    verdict.answer = answer;
    verdict.reason = reason;
  };
  switch (CompareRanges(*verdict.baseline, *verdict.candidate)) {
    case RangeChange::kEqual:
      return set(Answer::kPass, Reason::kCountsEqual);
    case RangeChange::kRose:
      return set(Answer::kRegressed, Reason::kCountRose);
    case RangeChange::kFell:
      return set(Answer::kImproved, Reason::kCountFell);
    case RangeChange::kSometimesRose:
      return set(Answer::kSuspect, Reason::kBecameUnstable);
    case RangeChange::kOverlap:
      return set(Answer::kPass, Reason::kRangesOverlap);
  }
}

// Why no verdict is possible, whatever the counts are.
std::optional<Reason> Obstacle(const WindowCounts& baseline, const WindowCounts& candidate, const CountVerdict& verdict,
                               bool environment_differs) {
  if (baseline.problem) return baseline.problem;
  if (candidate.problem) return candidate.problem;
  if (!verdict.baseline || !verdict.candidate) return Reason::kNotRecorded;
  const std::string_view family = FamilyOf(verdict.name);
  if (Contains(baseline.lost_families, family) || Contains(candidate.lost_families, family)) return Reason::kDataLost;
  if (environment_differs) return Reason::kEnvironmentDiffers;
  return std::nullopt;
}

}  // namespace

absl::StatusOr<WindowCounts> CountWindow(const RecordedCounts& recorded) {
  SH_RETURN_IF_ERROR(Check(recorded));
  WindowCounts window;
  window.recorded_families = recorded.recorded_families;
  window.lost_families = recorded.lost_families;
  const std::optional<size_t> start = WindowStart(recorded);
  if (!start) {
    window.problem = Reason::kNoSteadyIterations;
    return window;
  }
  window.first_iteration = static_cast<int64_t>(*start);
  window.iteration_count = static_cast<int64_t>(recorded.iterations.size() - *start);
  if (window.iteration_count < kLeastIterationCount) {
    window.problem = Reason::kWindowTooShort;
    return window;
  }
  for (const CountSeries& series : recorded.series) {
    const auto [least, most] =
        std::minmax_element(series.per_iteration.begin() + static_cast<ptrdiff_t>(*start), series.per_iteration.end());
    window.counts.push_back({series.name, {*least, *most}});
  }
  return window;
}

std::vector<CountVerdict> CompareCounts(const WindowCounts& baseline, const WindowCounts& candidate,
                                        std::span<const KeyDifference> environment) {
  const std::map<std::string_view, CountRange> baseline_ranges = RangesOf(baseline),
                                               candidate_ranges = RangesOf(candidate);
  std::set<std::string_view> names;
  for (const auto* ranges : {&baseline_ranges, &candidate_ranges}) {
    for (const auto& [name, range] : *ranges) names.insert(name);
  }
  if (names.empty() && (baseline.problem || candidate.problem)) names.insert("counts");
  std::vector<CountVerdict> verdicts;
  for (const std::string_view name : names) {
    CountVerdict verdict;
    verdict.name = name;
    verdict.baseline = RangeOf(baseline, baseline_ranges, name);
    verdict.candidate = RangeOf(candidate, candidate_ranges, name);
    if (const std::optional<Reason> obstacle = Obstacle(baseline, candidate, verdict, !environment.empty())) {
      verdict.answer = Answer::kInconclusive;
      verdict.reason = *obstacle;
    } else {
      Judge(verdict);
    }
    verdicts.push_back(std::move(verdict));
  }
  return verdicts;
}

}  // namespace stallhound::analysis::gate
