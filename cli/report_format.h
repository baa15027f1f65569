#pragma once

// Where a report goes and in which format, for every command that makes one.

#include <absl/status/status.h>

#include <string>
#include <vector>

#include "cli/console.h"

namespace CLI {
class App;
}

namespace stallhound::cli {

struct ReportOptions {
  std::string format = "text";
  std::string output;  // a path; "-" is stdout; empty: the command's default stream
};

// Adds --format (one of `formats`) and --output.
void AddReportOptions(CLI::App& command, const std::vector<std::string>& formats, ReportOptions& options);

// Writes a finished report: to a file (replaced whole), to stdout, or to stderr if `default_is_stderr` and no output
// was asked for.
absl::Status WriteReport(const ReportOptions& options, const std::string& report, bool default_is_stderr,
                         Console& console);

}  // namespace stallhound::cli
