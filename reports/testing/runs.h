#pragma once

// Runs of a history built in code. They say the same on every machine.

#include <vector>

#include "reports/run/run_report.h"

namespace stallhound::reports {

// Two layers, three variants, a failed case, sites with and without costs, judged.
RunReport OrdinaryRun();

// Every text that comes from a history is hostile.
RunReport HostileRun();

// One of them judged, the other with all unknown that may be.
std::vector<RunSummary> OrdinaryRuns();

}  // namespace stallhound::reports
