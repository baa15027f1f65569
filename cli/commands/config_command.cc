#include "cli/commands/config_command.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "cli/config/config.h"
#include "cli/config/config_keys.h"
#include "cli/config/config_report.h"
#include "cli/exit_code.h"
#include "cli/report_format.h"

namespace stallhound::cli {
namespace {

constexpr char kDetails[] =
    R"help(Prints what holds for this folder's benchmarks, as a stallhound.toml that means the same, with the line
of the file that each value is from, or "default". The file is looked for in the working folder and in
those above. --explain says what the keys mean instead: type, unit, default and an example. KEY is a key
(bench.rounds) or a section (gate.budget); without it, all.

Examples:
  stallhound config
  stallhound config bench.rounds
  stallhound config --explain
  stallhound config --explain gate.budget
  stallhound config --format json > config.json)help";

struct ConfigOptions {
  std::string key;
  bool explain = false;
  ReportOptions report;
};

absl::StatusOr<std::string> Render(const ConfigOptions& options) {
  std::vector<const ConfigKey*> keys;
  if (options.key.empty()) {
    for (const ConfigKey& key : ConfigKeys()) keys.push_back(&key);
  } else {
    SH_ASSIGN_OR_RETURN(keys, FindConfigKeys(options.key));
  }
  const bool is_json = options.report.format == "json";
  if (options.explain) return is_json ? ExplainKeysJson(keys) : ExplainKeysText(keys);
  SH_ASSIGN_OR_RETURN(Config config, LoadConfig());
  return is_json ? ConfigJson(std::move(config), keys) : ConfigToml(std::move(config), keys);
}

std::vector<std::string> KeysAndSections() {
  std::vector<std::string> names;
  for (const ConfigKey& key : ConfigKeys()) {
    if (std::find(names.begin(), names.end(), key.section) == names.end()) names.emplace_back(key.section);
    names.push_back(FullName(key));
  }
  return names;
}

absl::StatusOr<int> RunConfigCommand(const ConfigOptions& options, CommandContext& context) {
  SH_ASSIGN_OR_RETURN(const std::string text, Render(options));
  SH_RETURN_IF_ERROR(WriteReport(options.report, text, false, context.console));
  return kExitFine;
}

}  // namespace

void AddConfigCommand(CommandRegistry& registry) {
  auto options = std::make_shared<ConfigOptions>();
  CLI::App* command = registry.Add(
      {
          .name = "config",
          .summary = "Print the configuration of the benchmarks, or say what its keys mean",
          .usage = "[options] [KEY]",
          .details = kDetails,
          .argument_choices = KeysAndSections,
      },
      [options](CommandContext& context) { return RunConfigCommand(*options, context); });
  command->add_option("key", options->key, "A key, such as bench.rounds, or a section")->type_name("");
  command->add_flag("--explain", options->explain, "Say what the keys mean");
  AddReportOptions(*command, {"text", "json"}, options->report);
}

}  // namespace stallhound::cli
