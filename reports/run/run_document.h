#pragma once

// A run's report without a format: a table a layer, what waits, what the gate said, where it ran.

#include <vector>

#include "reports/document/document.h"
#include "reports/run/run_report.h"

namespace stallhound::reports {

Document RunDocument(const RunReport& report);
Document RunsDocument(const std::vector<RunSummary>& runs);

}  // namespace stallhound::reports
