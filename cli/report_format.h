#pragma once

// Where a report goes and in which format, for every command that makes one.

#include <absl/status/status.h>

#include <cstdint>
#include <optional>
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

// Which report a path holds: written anew, it is another one. nullopt: no regular file is there.
struct ReportStamp {
  uint64_t device = 0;
  uint64_t inode = 0;
  int64_t modified_ns = 0;  // CLOCK_REALTIME
  bool operator==(const ReportStamp&) const = default;
};
std::optional<ReportStamp> StampOf(const std::string& output);

// Removes the report of an earlier run, if `output` still holds it, and says so: nobody shall take it for this run's.
void RemoveStaleReport(const std::string& output, const std::optional<ReportStamp>& before, Console& console);

}  // namespace stallhound::cli
