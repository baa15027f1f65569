#pragma once

// A gate's report for people and programs. Unknown numbers are "-" or null, never 0.

#include <string>

#include "reports/gate/gate_report.h"
#include "reports/text/options.h"

namespace stallhound::reports {

std::string GateTerminal(const GateReport& report, const TerminalOptions& options);
std::string GateMarkdown(const GateReport& report);
// One JSON object, described in reports/gate/README.md; its "version" grows when a field changes its meaning.
std::string GateJson(const GateReport& report);
// One test case a verdict: regressed is a failure, suspect and inconclusive are skipped with the reason.
std::string GateJunit(const GateReport& report);

}  // namespace stallhound::reports
