#include "analysis/gate/clocks.h"

#include <cmath>
#include <vector>

#include "base/stats/samples.h"
#include "base/status_macros.h"

namespace stallhound::analysis::gate {
namespace {

absl::StatusOr<std::vector<double>> Clocks(std::string_view side, std::span<const Round> rounds) {
  std::vector<double> clocks_hz;
  for (const Round& round : rounds) {
    if (round.sm_clock_hz) clocks_hz.push_back(*round.sm_clock_hz);
  }
  if (!clocks_hz.empty()) SH_RETURN_IF_ERROR(stats::CheckPositive("compare SM clocks", side, clocks_hz));
  return clocks_hz;
}

}  // namespace

absl::StatusOr<ClockJudgement> JudgeClocks(const CaseRounds& rounds) {
  SH_ASSIGN_OR_RETURN(std::vector<double> baseline_hz, Clocks("baseline", rounds.baseline));
  SH_ASSIGN_OR_RETURN(std::vector<double> candidate_hz, Clocks("candidate", rounds.candidate));
  ClockJudgement judgement;
  if (baseline_hz.empty() && candidate_hz.empty()) return judgement;
  if (baseline_hz.size() < rounds.baseline.size() || candidate_hz.size() < rounds.candidate.size()) {
    judgement.obstacle = Reason::kClockNotRecorded;
  }
  if (baseline_hz.empty() || candidate_hz.empty()) return judgement;
  judgement.ratio = stats::MedianInPlace(candidate_hz) / stats::MedianInPlace(baseline_hz);
  if (judgement.obstacle) return judgement;
  const double difference = std::abs(*judgement.ratio - 1);
  if (difference <= kClockToleranceRatio) return judgement;
  if (rounds.bound == Bound::kCompute && difference <= kMostClockDifferenceRatio) {
    judgement.needs_cycles = true;
  } else {
    judgement.obstacle = Reason::kClocks;
  }
  return judgement;
}

}  // namespace stallhound::analysis::gate
