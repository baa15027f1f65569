#pragma once

// A run of the history as the values that its report prints.

#include "reports/run/run_report.h"
#include "store/run.h"

namespace stallhound::cli {

// All but RunReport::gate.
reports::RunReport RunReportOf(const store::RunRecord& record);

}  // namespace stallhound::cli
