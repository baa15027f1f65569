#pragma once

// Any document as text; names are those of reports/text/hunt_text.h, whose rules hold.

#include <string>

#include "reports/document/document.h"
#include "reports/text/options.h"

namespace stallhound::reports {

// Lines of at most options.width columns. Details of rows are left out.
std::string DocumentTerminal(const Document& document, const TerminalOptions& options);
// GitHub-flavoured Markdown. Details of rows are left out.
std::string DocumentMarkdown(const Document& document);

}  // namespace stallhound::reports
