#pragma once

// What the process ends with, and how an error of any layer becomes that.

#include <absl/status/status.h>

#include <string_view>

namespace stallhound::cli {

inline constexpr int kExitFine = 0;
inline constexpr int kExitRegression = 1;    // or a budget exceeded, confirmed
inline constexpr int kExitUsage = 2;         // the command line
inline constexpr int kExitData = 3;          // bad input or a data error
inline constexpr int kExitEnvironment = 4;   // no GPU, no CUPTI, permission, no space, another profiler
inline constexpr int kExitInconclusive = 5;  // or suspect, with --strict
inline constexpr int kExitInternal = 70;     // a bug

// Errors that are the command line's, or the machine's, whatever code they would have otherwise.
absl::Status UsageError(std::string_view message);
absl::Status EnvironmentError(std::string_view message);

// 0 for OK; Internal, Unknown and what else names a bug is 70; permission, lack of space and unavailability are the
// environment's; every other error is the data's.
int ExitCodeOf(const absl::Status& status);

}  // namespace stallhound::cli
