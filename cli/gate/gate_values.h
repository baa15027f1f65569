#pragma once

// What the history keeps, as the values that reports print.

#include <vector>

#include "cli/gate/judge_run.h"
#include "reports/gate/gate_report.h"
#include "store/run.h"

namespace stallhound::cli {

reports::GateRun GateRunOf(const store::RunInfo& info);
std::vector<reports::GateVerdict> GateVerdictsOf(const store::Judgement& judgement);
std::vector<reports::GateDifference> GateDifferencesOf(const std::vector<CaseDifference>& differences);

}  // namespace stallhound::cli
