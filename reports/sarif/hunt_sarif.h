#pragma once

// A hunt as SARIF 2.1.0 (https://docs.oasis-open.org/sarif/sarif/v2.1.0), as code hosts and editors show it beside
// the lines.

#include <string>

#include "analysis/hunt/report.h"

namespace stallhound::reports {

// Rules are the kinds of sites, and "budget" for an excess of which no line is known. Results: an error for each site
// that a limit of the budget counts and that is over it, a note for each other site. Relative files have the base
// SRCROOT; absolute ones and those below ~ have none. A site without a file is a logical location.
std::string HuntSarif(const analysis::HuntReport& report);

}  // namespace stallhound::reports
