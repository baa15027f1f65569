#pragma once

// The statistical gate: times of a case on two sides. The unit is a round, the median of one fresh process; iterations
// of one process are not independent. Two steps: a screen over all cases, then fresh interleaved rounds for those it
// found. Pure functions, safe from any thread; the same rounds and seed give the same verdict everywhere.

#include <absl/status/statusor.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/gate/verdict.h"
#include "base/stats/median_ratio.h"

namespace stallhound::analysis::gate {

inline constexpr int64_t kScreenRoundCount = 8;         // a side, at least
inline constexpr int64_t kLeastConfirmRoundCount = 16;  // a side
inline constexpr double kScreenAlpha = 0.05;
inline constexpr double kIntervalConfidenceRatio = 0.95;
inline constexpr double kDetectionPowerRatio = 0.9;  // of TimeVerdict::smallest_effect_ratio
// A pass says that no slow-down beyond the budget by more than this would have been missed: the largest change whose
// power README.md states. Where the noise hides more, finding nothing is no answer.
inline constexpr double kMostUnseenRatio = 0.10;
// Stored times are whole nanoseconds, each wrong by up to half of one. Where that is more than the budget, and more
// than kLeastResolutionRatio, only a change that both roundings together cannot make is one.
inline constexpr double kTimeStepNs = 1;
inline constexpr double kLeastResolutionRatio = 0.001;
inline constexpr double kClockToleranceRatio = 0.005;      // SM clocks closer than this are equal
inline constexpr double kMostClockDifferenceRatio = 0.02;  // further apart, cycles do not explain times either

struct Round {
  double time_ns = 0;
  std::optional<double> sm_clock_hz;  // measured on the device; null: not measured, or no GPU
};

// What limits a case, which decides how its time follows the SM clock.
enum class Bound : uint8_t { kUnknown, kCompute, kMemory, kLatency };

struct CaseRounds {
  std::string benchmark_id;
  std::vector<Round> baseline;
  std::vector<Round> candidate;
  double budget_ratio = 0.005;  // changes up to this are nobody's business
  Bound bound = Bound::kUnknown;
  bool environment_differs = false;  // CompareKeys found something that the comparison is not about
};

enum class Direction : uint8_t { kSlower, kFaster };

struct TimeVerdict {
  std::string benchmark_id;
  Answer answer = Answer::kInconclusive;
  Reason reason = Reason::kTooFewRounds;
  std::optional<double> effect_ratio;            // median over median, less 1: 0.02 is 2% slower; null: a side is empty
  std::optional<stats::RatioInterval> interval;  // of median over median; null: too few rounds for one
  int64_t baseline_round_count = 0;
  int64_t candidate_round_count = 0;
  std::optional<double> p;           // one-sided rank test
  std::optional<double> p_adjusted;  // over all confirmed cases; null in a screen
  std::optional<double> p_min;       // smallest p that these rounds could have given
  // Smallest slow-down that would have been seen with kDetectionPowerRatio, at least half of `interval`: the estimate
  // assumes one mode, and sees little of the spread of rounds that have several. Null: none, however large, or a side
  // is empty.
  std::optional<double> smallest_effect_ratio;
  std::optional<double> clock_ratio;          // candidate's SM clock over the baseline's; null: not measured on a side
  std::optional<int64_t> needed_round_count;  // a side; set with kTooFewRounds
  // The side of 1 that the effect lies on; what a confirmation has to confirm.
  Direction direction() const { return effect_ratio.value_or(0) < 0 ? Direction::kFaster : Direction::kSlower; }
};

// Where a screen's rounds come from.
enum class RoundSource : uint8_t {
  kInterleaved,  // measured together: what is found can be confirmed
  kStored,       // against runs of another time: what is found stays suspect
};

// A case is suspect if a one-sided rank test in the direction of its effect gives p < kScreenAlpha and the ratio of
// medians lies outside the budget; else it passes. Inconclusive below kScreenRoundCount rounds a side, in another
// environment, if it would pass but the smallest effect is above the budget by more than kMostUnseenRatio, or by the
// rule on clocks: if the SM clocks differ by more than kClockToleranceRatio, a compute-bound
// case must give the same answer in cycles, and all others, and differences above kMostClockDifferenceRatio, are
// inconclusive. So is a case that kTimeStepNs is too coarse for, and one with a time of 0, which nothing is computed
// of. Errors: InvalidArgument for a time, clock or budget that is not finite and positive (a time or budget may be 0).
// About 3 ms for 8 rounds a side.
absl::StatusOr<TimeVerdict> ScreenTimes(const CaseRounds& rounds, RoundSource source, uint64_t seed);

struct Confirmation {
  CaseRounds fresh;  // interleaved, none of them from the screen
  Direction direction = Direction::kSlower;
};

// Rounds a side that a confirmation of `screened_count` cases needs: even, at least kLeastConfirmRoundCount, so that
// the smallest reachable p is at most q / (2 screened_count). Errors: InvalidArgument for screened_count < 1 or q
// outside (0, 1).
absl::StatusOr<int64_t> ConfirmRoundCount(int64_t screened_count, double q);

struct ConfirmRule {
  double q = 0.05;  // expected share of false ones among the confirmed
  uint64_t seed = 1;
};

// All screened cases at once. A case has regressed, or improved, if Benjamini-Hochberg at q over all of them keeps its
// one-sided rank test and the bootstrap interval of its ratio of medians lies wholly outside the budget. If the test is
// kept and only the ratio lies outside, it is suspect; else it passes. Inconclusive as ScreenTimes, and below
// ConfirmRoundCount rounds a side.
// Errors: as ScreenTimes and ConfirmRoundCount; also InvalidArgument for a time of 0. About 2 ms a case for 16 rounds a
// side.
absl::StatusOr<std::vector<TimeVerdict>> ConfirmTimes(std::span<const Confirmation> cases, const ConfirmRule& rule);

enum class Side : uint8_t { kBaseline, kCandidate };

// The order to measure in: baseline, candidate, candidate, baseline, and so on, so that a drift meets both sides alike.
std::vector<Side> AbbaOrder(int64_t rounds_a_side);

}  // namespace stallhound::analysis::gate
