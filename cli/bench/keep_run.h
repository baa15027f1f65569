#pragma once

// A measured run in the history, and what is said of it.

#include <absl/status/status.h>

#include <cstdint>
#include <string>

#include "cli/console.h"
#include "store/run.h"

namespace stallhound::cli {

// Opens the history of the home for appending, and makes it if it is not there: better now than after an hour of
// measuring. Shows its warnings. Errors: those of store::OpenHistory.
absl::Status CheckHistory(const std::string& home, Console& console);

int64_t FailedCaseCount(const store::RunRecord& run);

// Appends the run; tries for a minute while other processes write. Errors: those of store::History.
absl::Status KeepRun(const std::string& home, const store::RunRecord& run);

// Warns of cases that failed and of counts that are unknown, and prints what was measured: "run 3f2a...: 12 cases of
// suite 'bench', 8 rounds".
void PrintRun(const store::RunRecord& run, const std::string& home, Console& console);

}  // namespace stallhound::cli
