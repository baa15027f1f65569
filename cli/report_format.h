#pragma once

// Where a report goes and in which format, for every command that makes one.

#include <absl/status/status.h>

#include <optional>
#include <string>
#include <vector>

#include "base/file.h"
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

// Whether the report can be written where --output says; touches nothing. For a command that works long before it has
// one. Errors: usage.
absl::Status CheckOutput(const ReportOptions& options);

// Writes a finished report: to a file (replaced whole), to stdout, or to stderr if `default_is_stderr` and no output
// was asked for.
absl::Status WriteReport(const ReportOptions& options, const std::string& report, bool default_is_stderr,
                         Console& console);

// The report that lies at a path; nullopt: no regular file does.
std::optional<FileIdentity> ReportAt(const std::string& output);

// Removes the report of an earlier run, if `output` still holds it, and says so: nobody shall take it for this run's.
void RemoveStaleReport(const std::string& output, const std::optional<FileIdentity>& before, Console& console);

}  // namespace stallhound::cli
