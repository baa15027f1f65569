#include "analysis/gate/times.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analysis/gate/clocks.h"
#include "base/stats/detectable_effect.h"
#include "base/stats/false_discovery.h"
#include "base/stats/rank_test.h"
#include "base/stats/samples.h"
#include "base/status_macros.h"

namespace stallhound::analysis::gate {
namespace {

struct Sides {
  std::vector<double> baseline;
  std::vector<double> candidate;
};

Sides Times(const CaseRounds& rounds) {
  Sides sides;
  for (const Round& round : rounds.baseline) sides.baseline.push_back(round.time_ns);
  for (const Round& round : rounds.candidate) sides.candidate.push_back(round.time_ns);
  return sides;
}

// All rounds have clocks where cycles are needed (clocks.h).
Sides Cycles(const CaseRounds& rounds) {
  Sides sides;
  for (const Round& round : rounds.baseline) sides.baseline.push_back(round.time_ns * 1e-9 * *round.sm_clock_hz);
  for (const Round& round : rounds.candidate) sides.candidate.push_back(round.time_ns * 1e-9 * *round.sm_clock_hz);
  return sides;
}

// One measure, times or cycles, of both sides.
struct Comparison {
  double ratio = 1;
  double shorter = 0;  // of the two medians
  Direction direction = Direction::kSlower;
  stats::RankTestResult rank;
  std::optional<stats::RatioInterval> interval;
};

// `direction` null: the one that the ratio points in.
absl::StatusOr<Comparison> Compare(const Sides& sides, std::optional<Direction> direction, uint64_t seed) {
  Comparison comparison;
  SH_ASSIGN_OR_RETURN(const double baseline, stats::Median(sides.baseline));
  SH_ASSIGN_OR_RETURN(const double candidate, stats::Median(sides.candidate));
  comparison.ratio = candidate / baseline;
  comparison.shorter = std::min(baseline, candidate);
  comparison.direction = direction.value_or(comparison.ratio < 1 ? Direction::kFaster : Direction::kSlower);
  const auto alternative =
      comparison.direction == Direction::kSlower ? stats::Alternative::kGreater : stats::Alternative::kLess;
  SH_ASSIGN_OR_RETURN(comparison.rank, stats::RankTest(sides.baseline, sides.candidate, alternative));
  const auto fewest = static_cast<int64_t>(std::min(sides.baseline.size(), sides.candidate.size()));
  if (fewest < stats::LeastSampleCount(kIntervalConfidenceRatio)) return comparison;
  const stats::BootstrapOptions bootstrap = {kIntervalConfidenceRatio, seed};
  SH_ASSIGN_OR_RETURN(comparison.interval, stats::IntervalOfMedianRatio(sides.baseline, sides.candidate, bootstrap));
  return comparison;
}

bool IsOutside(double ratio, Direction direction, double budget_ratio) {
  return direction == Direction::kSlower ? ratio > 1 + budget_ratio : ratio < 1 - budget_ratio;
}

// A case with what is known before any decision; `times` is null if a side has no rounds, `cycles` unless needed.
struct Measured {
  TimeVerdict verdict;
  ClockJudgement clocks;
  std::optional<Comparison> times;
  std::optional<Comparison> cycles;
};

absl::Status CheckCase(const CaseRounds& rounds, const Sides& times) {
  if (!(rounds.budget_ratio >= 0 && std::isfinite(rounds.budget_ratio))) {
    return absl::InvalidArgumentError(
        fmt::format("cannot judge the times of '{}': its budget is {}; it must be 0 or more", rounds.benchmark_id,
                    rounds.budget_ratio));
  }
  const std::string action = fmt::format("judge the times of '{}'", rounds.benchmark_id);
  if (!times.baseline.empty()) SH_RETURN_IF_ERROR(stats::CheckPositive(action, "baseline", times.baseline));
  if (!times.candidate.empty()) SH_RETURN_IF_ERROR(stats::CheckPositive(action, "candidate", times.candidate));
  return absl::OkStatus();
}

absl::StatusOr<Measured> Measure(const CaseRounds& rounds, std::optional<Direction> direction, uint64_t seed,
                                 stats::DetectionRule detection) {
  const Sides times = Times(rounds);
  SH_RETURN_IF_ERROR(CheckCase(rounds, times));
  Measured measured;
  TimeVerdict& verdict = measured.verdict;
  verdict.benchmark_id = rounds.benchmark_id;
  verdict.baseline_round_count = static_cast<int64_t>(times.baseline.size());
  verdict.candidate_round_count = static_cast<int64_t>(times.candidate.size());
  SH_ASSIGN_OR_RETURN(measured.clocks, JudgeClocks(rounds));
  verdict.clock_ratio = measured.clocks.ratio;
  if (times.baseline.empty() || times.candidate.empty()) return measured;

  SH_ASSIGN_OR_RETURN(measured.times, Compare(times, direction, seed));
  if (measured.clocks.needs_cycles) {
    SH_ASSIGN_OR_RETURN(measured.cycles, Compare(Cycles(rounds), direction, seed));
  }
  verdict.effect_ratio = measured.times->ratio - 1;
  verdict.interval = measured.times->interval;
  verdict.p = measured.times->rank.p;
  verdict.p_min = measured.times->rank.p_min;
  detection.margin_ratio = rounds.budget_ratio;
  SH_ASSIGN_OR_RETURN(verdict.smallest_effect_ratio,
                      stats::MinimumDetectableEffect(times.baseline, times.candidate, detection));
  if (verdict.smallest_effect_ratio && verdict.interval) {
    const double half_width = (verdict.interval->high - verdict.interval->low) / 2;
    verdict.smallest_effect_ratio = std::max(*verdict.smallest_effect_ratio, half_width);
  }
  return measured;
}

void Set(TimeVerdict& verdict, Answer answer, Reason reason) {
  verdict.answer = answer;
  verdict.reason = reason;
}

// Nothing was found. That is a pass if what matters would have been.
void SetNothingFound(double budget_ratio, Reason reason, TimeVerdict& verdict) {
  const bool could_see =
      verdict.smallest_effect_ratio && *verdict.smallest_effect_ratio <= budget_ratio + kMostUnseenRatio;
  if (could_see) return Set(verdict, Answer::kPass, reason);
  Set(verdict, Answer::kInconclusive, Reason::kTooNoisy);
}

// The change that the steps of the clock alone can make, if they hide one that matters.
std::optional<double> HiddenBySteps(const Comparison& times, double budget_ratio) {
  const double error_ratio = kTimeStepNs / 2 / times.shorter;
  if (error_ratio <= std::max(budget_ratio, kLeastResolutionRatio)) return std::nullopt;
  return budget_ratio + 2 * error_ratio;
}

bool HasZero(std::span<const Round> rounds) {
  return std::any_of(rounds.begin(), rounds.end(), [](const Round& round) { return round.time_ns == 0; });
}

// Sets the verdict if the rounds allow none other; true if they do not.
bool IsInconclusive(const CaseRounds& rounds, int64_t needed_round_count, Measured& measured) {
  TimeVerdict& verdict = measured.verdict;
  const auto fewest = std::min(verdict.baseline_round_count, verdict.candidate_round_count);
  if (rounds.environment_differs) {
    Set(verdict, Answer::kInconclusive, Reason::kEnvironmentDiffers);
  } else if (fewest < needed_round_count) {
    Set(verdict, Answer::kInconclusive, Reason::kTooFewRounds);
    verdict.needed_round_count = needed_round_count;
  } else if (measured.clocks.obstacle) {
    Set(verdict, Answer::kInconclusive, *measured.clocks.obstacle);
  } else {
    const std::optional<double> hidden = HiddenBySteps(*measured.times, rounds.budget_ratio);
    if (!hidden) return false;
    if (verdict.smallest_effect_ratio) {
      verdict.smallest_effect_ratio = std::max(*verdict.smallest_effect_ratio, *hidden);
    }
    if (std::abs(measured.times->ratio - 1) > *hidden) return false;
    Set(verdict, Answer::kInconclusive, Reason::kClockTooCoarse);
  }
  return true;
}

// The direction that a screen would have confirmed.
std::optional<Direction> Flagged(const Comparison& comparison, double budget_ratio) {
  const bool is_flagged =
      comparison.rank.p < kScreenAlpha && IsOutside(comparison.ratio, comparison.direction, budget_ratio);
  return is_flagged ? std::optional(comparison.direction) : std::nullopt;
}

enum class Finding : uint8_t { kNothing, kPerhapsWithinBudget, kProven };

Finding Find(const Comparison& comparison, bool is_significant, double budget_ratio) {
  if (!is_significant || !IsOutside(comparison.ratio, comparison.direction, budget_ratio)) return Finding::kNothing;
  const bool is_slower = comparison.direction == Direction::kSlower;
  const double nearest = is_slower ? comparison.interval->low : comparison.interval->high;
  return IsOutside(nearest, comparison.direction, budget_ratio) ? Finding::kProven : Finding::kPerhapsWithinBudget;
}

void SetConfirmed(Finding finding, Direction direction, double budget_ratio, TimeVerdict& verdict) {
  switch (finding) {
    case Finding::kNothing:
      return SetNothingFound(budget_ratio, Reason::kNotConfirmed, verdict);
    case Finding::kPerhapsWithinBudget:
      return Set(verdict, Answer::kSuspect, Reason::kIntervalOverlapsBudget);
    case Finding::kProven:
      return direction == Direction::kSlower ? Set(verdict, Answer::kRegressed, Reason::kConfirmedSlower)
                                             : Set(verdict, Answer::kImproved, Reason::kConfirmedFaster);
  }
}

}  // namespace

absl::StatusOr<TimeVerdict> ScreenTimes(const CaseRounds& rounds, RoundSource source, uint64_t seed) {
  if (HasZero(rounds.baseline) || HasZero(rounds.candidate)) {
    TimeVerdict verdict;
    verdict.benchmark_id = rounds.benchmark_id;
    verdict.baseline_round_count = static_cast<int64_t>(rounds.baseline.size());
    verdict.candidate_round_count = static_cast<int64_t>(rounds.candidate.size());
    Set(verdict, Answer::kInconclusive, Reason::kClockTooCoarse);
    return verdict;
  }
  const stats::DetectionRule detection = {.alpha = kScreenAlpha, .power_ratio = kDetectionPowerRatio};
  SH_ASSIGN_OR_RETURN(Measured measured, Measure(rounds, std::nullopt, seed, detection));
  TimeVerdict& verdict = measured.verdict;
  if (IsInconclusive(rounds, kScreenRoundCount, measured)) return verdict;
  const std::optional<Direction> in_time = Flagged(*measured.times, rounds.budget_ratio);
  if (measured.cycles && Flagged(*measured.cycles, rounds.budget_ratio) != in_time) {
    Set(verdict, Answer::kInconclusive, Reason::kClocks);
  } else if (in_time) {
    Set(verdict, Answer::kSuspect,
        source == RoundSource::kStored ? Reason::kStoredRunsOnly : Reason::kAwaitsConfirmation);
  } else {
    SetNothingFound(rounds.budget_ratio, Reason::kNoChangeSeen, verdict);
  }
  return verdict;
}

absl::StatusOr<int64_t> ConfirmRoundCount(int64_t screened_count, double q) {
  if (screened_count < 1) {
    return absl::InvalidArgumentError(
        fmt::format("cannot choose the rounds of a confirmation: {} cases were screened", screened_count));
  }
  SH_RETURN_IF_ERROR(stats::CheckProbability("choose the rounds of a confirmation", "q", q));
  const double p = q / (2 * static_cast<double>(screened_count));
  SH_ASSIGN_OR_RETURN(const int64_t count, stats::SampleCountForP(p, stats::Alternative::kGreater));
  return std::max(kLeastConfirmRoundCount, count + count % 2);
}

absl::StatusOr<std::vector<TimeVerdict>> ConfirmTimes(std::span<const Confirmation> cases, const ConfirmRule& rule) {
  if (cases.empty()) return std::vector<TimeVerdict>();
  const auto case_count = static_cast<int64_t>(cases.size());
  SH_ASSIGN_OR_RETURN(const int64_t needed_round_count, ConfirmRoundCount(case_count, rule.q));
  const stats::DetectionRule detection = {.alpha = rule.q / static_cast<double>(case_count),
                                          .interval_confidence_ratio = kIntervalConfidenceRatio,
                                          .power_ratio = kDetectionPowerRatio};
  std::vector<Measured> measured;
  std::vector<double> time_p, cycle_p;  // of cases that need no cycles, cycle_p repeats time_p
  for (const Confirmation& confirmation : cases) {
    SH_ASSIGN_OR_RETURN(Measured one, Measure(confirmation.fresh, confirmation.direction, rule.seed, detection));
    time_p.push_back(one.verdict.p.value_or(1));
    cycle_p.push_back(one.cycles ? one.cycles->rank.p : time_p.back());
    measured.push_back(std::move(one));
  }
  SH_ASSIGN_OR_RETURN(const std::vector<double> time_adjusted, stats::AdjustForFalseDiscovery(time_p));
  SH_ASSIGN_OR_RETURN(const std::vector<double> cycle_adjusted, stats::AdjustForFalseDiscovery(cycle_p));

  std::vector<TimeVerdict> verdicts;
  for (size_t i = 0; i < cases.size(); ++i) {
    Measured& one = measured[i];
    const double budget_ratio = cases[i].fresh.budget_ratio;
    if (one.times) one.verdict.p_adjusted = time_adjusted[i];
    if (!IsInconclusive(cases[i].fresh, needed_round_count, one)) {
      const Finding in_time = Find(*one.times, time_adjusted[i] <= rule.q, budget_ratio);
      if (one.cycles && Find(*one.cycles, cycle_adjusted[i] <= rule.q, budget_ratio) != in_time) {
        Set(one.verdict, Answer::kInconclusive, Reason::kClocks);
      } else {
        SetConfirmed(in_time, cases[i].direction, budget_ratio, one.verdict);
      }
    }
    verdicts.push_back(std::move(one.verdict));
  }
  return verdicts;
}

std::vector<Side> AbbaOrder(int64_t rounds_a_side) {
  std::vector<Side> order;
  for (int64_t i = 0; i < 2 * rounds_a_side; ++i) {
    const bool is_baseline = i % 4 == 0 || i % 4 == 3;
    order.push_back(is_baseline ? Side::kBaseline : Side::kCandidate);
  }
  return order;
}

}  // namespace stallhound::analysis::gate
