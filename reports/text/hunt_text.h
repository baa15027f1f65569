#pragma once

// A hunt as text: for a terminal, for a pull request, for a program. Unknown numbers print as "not recorded" (JSON:
// null), never as 0. Nothing printed names a user or a machine.

#include <string>

#include "analysis/hunt/report.h"
#include "reports/text/options.h"

namespace stallhound::reports {

// Tables of at most options.width columns; ANSI colour only if options.color.
std::string HuntTerminal(const analysis::HuntReport& report, const TerminalOptions& options);

// GitHub-flavoured Markdown.
std::string HuntMarkdown(const analysis::HuntReport& report);

// One JSON object, documented in reports/text/README.md; its "version" grows when a field changes its meaning.
std::string HuntJson(const analysis::HuntReport& report, const RunOutcome& outcome);

}  // namespace stallhound::reports
