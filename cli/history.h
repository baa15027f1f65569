#pragma once

// The history of benchmark runs in the home, and how runs are named on a command line.

#include <absl/status/statusor.h>

#include <memory>
#include <string>

#include "cli/console.h"
#include "store/history.h"

namespace stallhound::cli {

// That of HomeFolder(); its warnings go to the console. Errors: NotFound if no run was ever kept, whatever the access,
// with what to do; the environment's if nobody can tell; else those of store::OpenHistory.
absl::StatusOr<std::unique_ptr<store::History>> OpenHomeHistory(store::Access access, Console& console);

// The run whose uuid begins so; for "" the one that was added last, with a warning if another started later. Errors:
// NotFound, with what to do; InvalidArgument (several).
absl::StatusOr<store::RunInfo> FindRunOrNewest(store::HistoryReader& history, const std::string& text,
                                               Console& console);

// The run that a baseline of this name is, else the one whose uuid begins so. Errors: as above.
absl::StatusOr<store::RunInfo> FindBaselineRun(store::HistoryReader& history, const std::string& text);

}  // namespace stallhound::cli
