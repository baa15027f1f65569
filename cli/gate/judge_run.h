#pragma once

// A run against another: from what the history keeps to verdicts that it keeps.

#include <absl/status/statusor.h>

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "analysis/gate/difference.h"
#include "analysis/gate/times.h"
#include "cli/config/config.h"
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
  bool are_interleaved = false;  // the rounds of both were measured together
  ConfirmRounds confirm;         // empty: a change of time stays suspect
  int64_t judged_at_ns = 0;
};

// Why a count rose: what is new in the case.
struct CaseDifference {
  std::string benchmark;
  analysis::gate::KernelDifference kernels;
  analysis::gate::SiteDifference sites;
};

struct JudgedRun {
  store::Judgement judgement;               // one verdict a case and metric, what passed too
  std::vector<CaseDifference> differences;  // of the cases with a count that changed
  std::vector<std::string> notes;           // cases of one side only, differing environments, lost data
};

// Errors: those of `confirm`; InvalidArgument for a run that holds impossible values.
absl::StatusOr<JudgedRun> JudgeRun(const JudgeRequest& request);

}  // namespace stallhound::cli
