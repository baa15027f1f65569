#include "cli/report_format.h"

#include <absl/strings/str_join.h>

#include <CLI/CLI.hpp>

#include "base/file.h"

namespace stallhound::cli {

void AddReportOptions(CLI::App& command, const std::vector<std::string>& formats, ReportOptions& options) {
  command.add_option("--format", options.format, "Of the report: " + absl::StrJoin(formats, ", "))
      ->check(CLI::IsMember(formats))
      ->capture_default_str()
      ->type_name("FORMAT");
  command.add_option("--output", options.output, "Write the report to this file; - is stdout")->type_name("FILE");
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

}  // namespace stallhound::cli
