#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <string>
#include <vector>

namespace stallhound::cli {

// Runs a helper program of our own and returns what it printed to stdout; its stderr is ours. It is killed when
// `timeout_ns` is over or after Ctrl-C. Errors: NotFound (can't be started), Unavailable (timeout), Cancelled, Internal
// (it ended with another code than 0 or by a signal).
absl::StatusOr<std::string> ProgramOutput(const std::vector<std::string>& argv, int64_t timeout_ns);

}  // namespace stallhound::cli
