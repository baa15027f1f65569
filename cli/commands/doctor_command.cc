#include "cli/commands/doctor_command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/status_macros.h"
#include "cli/doctor_findings.h"
#include "cli/exit_code.h"
#include "cli/install_paths.h"
#include "cli/program_output.h"

namespace stallhound::cli {
namespace {

constexpr char kDetails[] =
    R"help(Looks at the machine in a process of its own: driver, CUPTI, the recorder, other profilers, container
and GPU settings. Prints what it found and what to do; ends with 4 if GPU work can't be recorded.

Examples:
  stallhound doctor
  stallhound doctor --json | jq .findings)help";

constexpr int64_t kProbeTimeoutNs = 60'000'000'000;

using nlohmann::json;

absl::StatusOr<json> Facts() {
  SH_ASSIGN_OR_RETURN(const std::string probe, FindProbe());
  std::vector<std::string> argv = {probe};
  const absl::StatusOr<std::string> recorder = FindRecorder();
  if (recorder.ok()) argv.insert(argv.end(), {"--recorder", *recorder});
  SH_ASSIGN_OR_RETURN(const std::string output, ProgramOutput(argv, kProbeTimeoutNs));
  json facts = json::parse(output, nullptr, /*allow_exceptions=*/false);
  if (!facts.is_object()) {
    return absl::InternalError(
        fmt::format("reading the probe's facts: no JSON object but '{}'", output.substr(0, 200)));
  }
  if (!recorder.ok()) {
    facts["recorder"] = {{"loads", false}, {"error", std::string(recorder.status().message())}};
  }
  return facts;
}

std::string AsText(const std::vector<Finding>& findings, bool has_color) {
  std::string text;
  for (const Finding& finding : findings) {
    const char* color = finding.level == FindingLevel::kFine   ? "\x1b[32m"
                        : finding.level == FindingLevel::kNote ? "\x1b[33m"
                                                               : "\x1b[31m";
    text += fmt::format("{}{:<8}{} {}\n", has_color ? color : "", FindingLevelName(finding.level),
                        has_color ? "\x1b[0m" : "", finding.text);
    if (!finding.advice.empty()) text += fmt::format("         -> {}\n", finding.advice);
  }
  return text;
}

std::string AsJson(const std::vector<Finding>& findings, const json& facts, bool can_record) {
  json list = json::array();
  for (const Finding& finding : findings) {
    json entry = {{"level", FindingLevelName(finding.level)}, {"text", finding.text}};
    entry["advice"] = finding.advice.empty() ? json() : json(finding.advice);
    list.push_back(std::move(entry));
  }
  const json document = {{"version", 1}, {"can_record_gpu", can_record}, {"findings", list}, {"facts", facts}};
  return document.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

absl::StatusOr<int> RunDoctorCommand(bool wants_json, CommandContext& context) {
  SH_ASSIGN_OR_RETURN(const json facts, Facts());
  const std::vector<Finding> findings = FindingsOf(facts);
  const bool can_record = std::none_of(findings.begin(), findings.end(),
                                       [](const Finding& finding) { return finding.level == FindingLevel::kBlocked; });
  if (wants_json) {
    context.console.Out(AsJson(findings, facts, can_record));
  } else {
    context.console.Out(AsText(findings, context.console.out_has_color()));
    context.console.Out(can_record ? "\nGPU work can be recorded here.\n"
                                   : "\nGPU work can't be recorded here until what is blocked above is put right.\n");
  }
  return can_record ? kExitFine : kExitEnvironment;
}

}  // namespace

void AddDoctorCommand(CommandRegistry& registry) {
  auto wants_json = std::make_shared<bool>(false);
  CLI::App* command = registry.Add(
      {
          .name = "doctor",
          .summary = "Check what can be recorded on this machine",
          .usage = "[options]",
          .details = kDetails,
      },
      [wants_json](CommandContext& context) { return RunDoctorCommand(*wants_json, context); });
  command->add_flag("--json", *wants_json, "Findings and facts as one JSON object");
}

}  // namespace stallhound::cli
