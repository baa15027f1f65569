#pragma once

// Runs of the history for people and programs. Unknown numbers are "not recorded", "-" where they do not apply, null in
// JSON; never 0.

#include <string>
#include <vector>

#include "reports/run/run_report.h"
#include "reports/text/options.h"

namespace stallhound::reports {

std::string RunTerminal(const RunReport& report, const TerminalOptions& options);
std::string RunMarkdown(const RunReport& report);
// One self-contained page.
std::string RunHtml(const RunReport& report);
// One JSON object, described in reports/run/README.md; its "version" grows when a field changes its meaning.
std::string RunJson(const RunReport& report);

// In the order given; with `color`, the titles stand out.
std::string RunsTerminal(const std::vector<RunSummary>& runs, const TerminalOptions& options);
std::string RunsJson(const std::vector<RunSummary>& runs);

}  // namespace stallhound::reports
