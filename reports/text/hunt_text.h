#pragma once

// A hunt as text: for a terminal, for a pull request, for a program. Unknown numbers print as "not recorded" (JSON:
// null), never as 0. Nothing printed names a user or a machine.

#include <string>

#include "analysis/hunt/report.h"
#include "reports/text/options.h"

namespace stallhound::reports {

// Lines of at most options.width columns; ANSI colour only if options.color. Where a table is too wide, its texts go
// below each row. Over-long names lose their middle.
std::string HuntTerminal(const analysis::HuntReport& report, const TerminalOptions& options);

// GitHub-flavoured Markdown; names of the recording are code. Over-long names lose their middle.
std::string HuntMarkdown(const analysis::HuntReport& report);

// One JSON object, nothing shortened, documented in reports/text/README.md; its "version" grows when a field changes
// its meaning.
std::string HuntJson(const analysis::HuntReport& report, const RunOutcome& outcome);

}  // namespace stallhound::reports
