#pragma once

// Counts as text, by the rules of reports/text/hunt_text.h.

#include <string>

#include "analysis/counts/counts.h"
#include "reports/text/options.h"

namespace stallhound::reports {

std::string CountsTerminal(const analysis::CountsReport& report, const TerminalOptions& options);
std::string CountsMarkdown(const analysis::CountsReport& report);
std::string CountsJson(const analysis::CountsReport& report);

}  // namespace stallhound::reports
