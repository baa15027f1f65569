#include "cli/report_format.h"

#include <absl/strings/str_join.h>
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "cli/exit_code.h"

namespace stallhound::cli {

void AddReportOptions(CLI::App& command, const std::vector<std::string>& formats, ReportOptions& options) {
  command.add_option("--format", options.format, "Of the report: " + absl::StrJoin(formats, ", "))
      ->check(CLI::IsMember(formats))
      ->capture_default_str()
      ->type_name("FORMAT");
  command.add_option("--output", options.output, "Write the report to this file; - is stdout")->type_name("FILE");
}

absl::Status CheckOutput(const ReportOptions& options) {
  if (options.output.empty() || options.output == "-") return absl::OkStatus();
  const absl::Status writable = CheckWritable(options.output);
  if (writable.ok()) return absl::OkStatus();
  return UsageError(fmt::format("--output: {}", std::string(writable.message())));
}

absl::Status WriteReport(const ReportOptions& options, const std::string& report, bool default_is_stderr,
                         Console& console) {
  if (!options.output.empty() && options.output != "-") return WriteFileAtomically(options.output, report);
  if (options.output.empty() && default_is_stderr) {
    console.Err(report);
  } else {
    console.Out(report);
  }
  return absl::OkStatus();
}

std::optional<FileIdentity> ReportAt(const std::string& output) {
  std::error_code error;
  return std::filesystem::is_regular_file(output, error) ? IdentityOf(output) : std::nullopt;
}

void RemoveStaleReport(const std::string& output, const std::optional<FileIdentity>& before, Console& console) {
  if (!before || ReportAt(output) != before) return;
  if (unlink(output.c_str()) == 0) {
    console.Warn(fmt::format("no report was made, so that of an earlier run is removed: '{}'", output));
  } else {
    console.Warn(fmt::format("no report was made; '{}' is of an earlier run, and removing it failed: {}", output,
                             strerror(errno)));
  }
}

}  // namespace stallhound::cli
