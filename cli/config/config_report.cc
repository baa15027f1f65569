#include "cli/config/config_report.h"

#include <fmt/format.h>

#include <optional>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/json_writer.h"
#include "base/status_macros.h"

namespace stallhound::cli {
namespace {

struct ConfigEntry {
  const ConfigKey* key;
  ConfigMember member;
  std::string name;             // of Config::lines
  std::optional<int64_t> line;  // nullopt: the default
};

// In the order in which a file may hold them: budget by budget.
std::vector<ConfigEntry> Entries(Config& config, ConfigKeyList keys) {
  std::vector<ConfigEntry> entries;
  const auto add = [&](const ConfigKey* key, std::string name, size_t budget) {
    const auto line = config.lines.find(name);
    entries.push_back({key, key->member(config, budget), std::move(name),
                       line == config.lines.end() ? std::nullopt : std::optional(line->second)});
  };
  for (const ConfigKey* key : keys) {
    if (key->section != kBudgetSection) add(key, FullName(*key), 0);
  }
  for (size_t i = 0; i < config.gate.budgets.size(); ++i) {
    for (const ConfigKey* key : keys) {
      if (key->section == kBudgetSection) add(key, fmt::format("{}[{}].{}", kBudgetSection, i, key->name), i);
    }
  }
  return entries;
}

std::string DefaultOf(const ConfigKey& key) {
  if (key.section == kBudgetSection) return "none, each [[gate.budget]] needs it";
  Config config;
  return TomlValue(key.member(config, 0)).value_or("unset");
}

}  // namespace

std::string ConfigToml(Config config, ConfigKeyList keys) {
  std::string text = config.path.empty() ? fmt::format("# There is no stallhound.toml in {} or above.\n", config.folder)
                                         : fmt::format("# {}\n", config.path);
  std::string group;
  for (const ConfigEntry& entry : Entries(config, keys)) {
    // "bench", "gate.budget[0]"
    const std::string entry_group = entry.name.substr(0, entry.name.rfind('.'));
    if (entry_group != group) {
      const bool is_budget = entry.key->section == kBudgetSection;
      text += fmt::format("\n{}{}{}\n", is_budget ? "[[" : "[", entry.key->section, is_budget ? "]]" : "]");
    }
    group = entry_group;
    const std::optional<std::string> value = TomlValue(entry.member);
    const std::string assignment =
        value ? fmt::format("{} = {}", entry.key->name, *value) : fmt::format("# {} is unset", entry.key->name);
    text += fmt::format("{:<40}  # {}\n", assignment,
                        entry.line ? fmt::format("{}:{}", config.path, *entry.line) : "default");
  }
  return text;
}

absl::StatusOr<std::string> ConfigJson(Config config, ConfigKeyList keys) {
  std::string json;
  JsonWriter writer(&json, 2);
  writer.BeginObject();
  writer.Field("path", config.path.empty() ? std::nullopt : std::optional(config.path));
  writer.Field("folder", config.folder);
  writer.Key("values");
  writer.BeginArray();
  for (const ConfigEntry& entry : Entries(config, keys)) {
    const bool is_duration = std::holds_alternative<std::optional<int64_t>*>(entry.member);
    writer.BeginObject();
    writer.Field("key", entry.name);
    std::visit([&](const auto* value) { writer.Field("value", *value); }, entry.member);
    writer.Field("unit", entry.key->unit.empty()
                             ? std::nullopt
                             : std::optional(is_duration ? std::string_view("ns") : entry.key->unit));
    writer.Field("line", entry.line);
    writer.EndObject();
  }
  writer.EndArray();
  writer.EndObject();
  SH_RETURN_IF_ERROR(writer.Finish());
  return json;
}

std::string ExplainKeysText(ConfigKeyList keys) {
  std::string text;
  for (const ConfigKey* key : keys) {
    const std::string range = Bounds(*key);
    text += fmt::format("{}{}\n  {}\n", text.empty() ? "" : "\n", FullName(*key), key->meaning);
    text += fmt::format("  type     {}{}{}\n", TypeName(*key), range.empty() ? "" : " ", range);
    if (!key->unit.empty()) text += fmt::format("  unit     {}\n", key->unit);
    text += fmt::format("  default  {}\n  example  {} = {}\n", DefaultOf(*key), key->name, key->example);
  }
  return text;
}

absl::StatusOr<std::string> ExplainKeysJson(ConfigKeyList keys) {
  std::string json;
  JsonWriter writer(&json, 2);
  writer.BeginArray();
  for (const ConfigKey* key : keys) {
    Config standard;
    const std::string range = Bounds(*key);
    writer.BeginObject();
    writer.Field("key", FullName(*key));
    writer.Field("meaning", key->meaning);
    writer.Field("type", TypeName(*key));
    writer.Field("range", range.empty() ? std::nullopt : std::optional(range));
    writer.Field("unit", key->unit.empty() ? std::nullopt : std::optional(key->unit));
    writer.Field("default", key->section == kBudgetSection ? std::nullopt : TomlValue(key->member(standard, 0)));
    writer.Field("example", key->example);
    writer.EndObject();
  }
  writer.EndArray();
  SH_RETURN_IF_ERROR(writer.Finish());
  return json;
}

}  // namespace stallhound::cli
