#pragma once

// The verdict on a hunt's budget as a JUnit XML file, in the subset that all CI servers
// read.

#include <string>

#include "analysis/hunt/report.h"

namespace stallhound::reports {

// One test case a limit: exceeded is a failure whose text names the lines, inconclusive is skipped with its reason.
// No budget: a suite without cases. UTF-8; well-formed XML 1.0 whatever the recording holds.
std::string HuntJunit(const analysis::HuntReport& report);

}  // namespace stallhound::reports
