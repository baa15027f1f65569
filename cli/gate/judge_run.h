#pragma once

// A run against another: from what the history keeps to verdicts that it keeps.

#include <absl/status/statusor.h>

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "analysis/gate/times.h"
#include "cli/config/config.h"
#include "cli/gate/case_difference.h"
#include "store/run.h"

namespace stallhound::cli {

// Measures the benchmarks of these ids on both sides, interleaved, `rounds_a_side` fresh processes each, in ABBA order.
// Rounds in the order of `benchmarks`; budgets and bounds need not be set.
using ConfirmRounds = std::function<absl::StatusOr<std::vector<analysis::gate::CaseRounds>>(
    std::span<const std::string> benchmarks, int64_t rounds_a_side)>;

struct JudgeRequest {
  const store::RunRecord* baseline = nullptr;
  const store::RunRecord* candidate = nullptr;
  GateConfig gate;
  bool are_interleaved = false;                              // the rounds of both were measured together
  bool is_same_program = false;                              // one program measured both: no change of time is its
  ConfirmRounds confirm;                                     // empty: a change of time stays suspect, unless
  std::span<const store::Verdict> confirmed;                 // these settle it (confirmed_verdicts.h)
  std::span<const store::Acknowledgement> acknowledgements;  // those not in force at that instant are left out
  int64_t judged_at_ns = 0;
};

struct JudgedRun {
  store::Judgement judgement;               // one verdict a case and metric, what passed too; sorted as it is read back
  std::vector<CaseDifference> differences;  // of the cases with other counts or other kernels
  std::vector<std::string> notes;           // cases of one side only, differing environments, acknowledgements
};

inline constexpr int64_t kGateRuleVersion = 5;

// The metric of the verdict on a case that was not measured.
inline constexpr char kOutcomeMetric[] = "outcome";
// That of the verdict on a case without counts; one that was recorded on a CPU on both sides has none.
inline constexpr char kCountsMetric[] = "counts";

inline constexpr char kAcknowledgedReason[] = "acknowledged";
inline constexpr char kSameProgramReason[] = "same-program";

// A reason is "code: sentence". Codes are those of analysis/gate, and of kOutcomeMetric:
//   case-failed   failed now but not in the baseline, new cases too: regressed. Failed before as well: inconclusive
//   case-skipped  inconclusive
//   case-missing  in the baseline only: inconclusive
//   baseline-not-measured  failed or was skipped there, and is measured now: inconclusive
// What the screen suspects has the verdict of `confirmed` that stands, if there is one; a note says so.
// Times of one program in one environment pass, with the code kSameProgramReason where the screen suspects them or
// could not tell: what differs is the machine. What was acknowledged passes with the code kAcknowledgedReason. The
// judgement's uuid follows from its content. Errors: those of `confirm`; FailedPrecondition if the runs have no case in
// common, or none that gives a verdict; InvalidArgument for a run that holds impossible values.
absl::StatusOr<JudgedRun> JudgeRun(const JudgeRequest& request);

}  // namespace stallhound::cli
