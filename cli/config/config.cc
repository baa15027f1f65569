#include "cli/config/config.h"

#include <fmt/format.h>
#include <regex.h>

#include <algorithm>
#include <filesystem>
#include <type_traits>
#include <utility>

#include "base/file.h"
#include "base/status_macros.h"
#include "base/units.h"
#include "cli/config/config_keys.h"
#include "cli/toml_file.h"

namespace stallhound::cli {
namespace {

namespace fs = std::filesystem;

constexpr char kFileName[] = "stallhound.toml";
constexpr uintmax_t kMostBytes = 1 << 20;

absl::Status Unreadable(const fs::path& path, std::string_view cause) {
  return absl::InvalidArgumentError(fmt::format("reading the configuration '{}': {}", path.string(), cause));
}

// NotFound: there is nothing of that name.
absl::StatusOr<std::string> ReadConfigFile(const fs::path& path) {
  std::error_code error;
  const fs::file_status link = fs::symlink_status(path, error);
  if (link.type() == fs::file_type::not_found) return absl::NotFoundError("");
  const fs::file_status status = fs::status(path, error);
  if (status.type() == fs::file_type::not_found) return Unreadable(path, "it is a link to what is not there");
  if (error) return Unreadable(path, error.message());
  if (status.type() != fs::file_type::regular) return Unreadable(path, "it is no regular file");
  const uintmax_t size_bytes = fs::file_size(path, error);
  if (!error && size_bytes > kMostBytes) {
    return Unreadable(path, fmt::format("its {} are more than a configuration can be ({})", FormatBytes(size_bytes),
                                        FormatBytes(kMostBytes)));
  }
  absl::StatusOr<std::string> text = ReadFile(path);
  // A file that is there but can't be read is not passed over: others would be judged by its defaults.
  if (!text.ok()) {
    return absl::Status(text.status().code(), fmt::format("reading the configuration '{}': {}", path.string(),
                                                          std::string(text.status().message())));
  }
  return text;
}

class ConfigParser {
 public:
  explicit ConfigParser(const std::string& path) : file_(fmt::format("the configuration '{}'", path)) {
    config_.path = path;
    config_.folder = fs::path(path).parent_path();
  }

  absl::StatusOr<Config> Parse(std::string_view text) {
    SH_ASSIGN_OR_RETURN(const toml::table root, file_.Parse(text));
    std::vector<std::string> sections;
    for (const ConfigKey& key : ConfigKeys()) {
      const bool is_new = std::find(sections.begin(), sections.end(), key.section) == sections.end();
      if (is_new && key.section != kBudgetSection) sections.emplace_back(key.section);
    }
    SH_RETURN_IF_ERROR(file_.CheckKeys(root, sections));
    for (const auto& [name, node] : root) {
      if (!node.is_table()) return file_.Error(node, name.str(), fmt::format("a table is expected: [{}]", name.str()));
      SH_RETURN_IF_ERROR(ReadSection(*node.as_table(), name.str(), std::string(name.str())));
    }
    return std::move(config_);
  }

 private:
  // `prefix` stands before the key in Config::lines.
  absl::Status ReadSection(const toml::table& table, std::string_view section, const std::string& prefix) {
    std::vector<std::string> known;
    for (const ConfigKey& key : ConfigKeys()) {
      if (key.section == section) known.emplace_back(key.name);
    }
    const bool has_budgets = kBudgetSection.starts_with(std::string(section) + ".");
    const std::string_view budgets = has_budgets ? kBudgetSection.substr(section.size() + 1) : std::string_view();
    if (has_budgets) known.emplace_back(budgets);
    SH_RETURN_IF_ERROR(file_.CheckKeys(table, known));
    for (const ConfigKey& key : ConfigKeys()) {
      if (key.section != section) continue;
      if (const toml::node* node = table.get(key.name)) {
        SH_RETURN_IF_ERROR(ReadKey(*node, key));
        config_.lines[fmt::format("{}.{}", prefix, key.name)] = node->source().begin.line;
      } else if (section == kBudgetSection) {
        return file_.Error(table, fmt::format("[[{}]]", section), fmt::format("{} is missing", key.name));
      }
    }
    if (!has_budgets) return absl::OkStatus();
    return file_.ForEachTable(table.get(budgets), kBudgetSection, [&](const toml::table& budget) {
      config_.gate.budgets.emplace_back();
      return ReadSection(budget, kBudgetSection,
                         fmt::format("{}[{}]", kBudgetSection, config_.gate.budgets.size() - 1));
    });
  }

  absl::Status ReadKey(const toml::node& node, const ConfigKey& key) {
    return std::visit([&](auto* member) { return Read(node, key, *member); },
                      key.member(config_, config_.gate.budgets.size() - 1));
  }

  absl::Status Wrong(const toml::node& node, const ConfigKey& key, std::string_view expected) const {
    return file_.Error(node, key.name, fmt::format("{}, such as {} = {}", expected, key.name, key.example));
  }

  absl::Status Read(const toml::node& node, const ConfigKey& key, std::string& member) const {
    const std::optional<std::string> text = node.value_exact<std::string>();
    if (!text || text->empty()) return Wrong(node, key, "a text in quotes is expected");
    const std::optional<std::string> problem = key.is_regex ? RegexProblem(*text) : std::nullopt;
    if (problem) return Wrong(node, key, fmt::format("'{}' is no regular expression ({})", *text, *problem));
    member = *text;
    return absl::OkStatus();
  }

  absl::Status Read(const toml::node& node, const ConfigKey& key, int64_t& member) const {
    const std::optional<int64_t> number = node.value_exact<int64_t>();
    if (!number || !(*number >= key.least && *number <= key.most)) {
      return Wrong(node, key, fmt::format("a whole number {} is expected", Bounds(key)));
    }
    member = *number;
    return absl::OkStatus();
  }

  absl::Status Read(const toml::node& node, const ConfigKey& key, double& member) const {
    const std::optional<double> number = node.is_number() ? node.value<double>() : std::nullopt;
    if (!number || !(*number >= key.least && *number <= key.most)) {
      return Wrong(node, key, fmt::format("a number {} is expected", Bounds(key)));
    }
    member = *number;
    return absl::OkStatus();
  }

  absl::Status Read(const toml::node& node, const ConfigKey& key, std::optional<int64_t>& member) const {
    const std::optional<std::string> text = node.value_exact<std::string>();
    if (!text) return Wrong(node, key, "a duration in quotes is expected");
    const absl::StatusOr<int64_t> duration_ns = ParseDuration(*text);
    if (!duration_ns.ok()) return Wrong(node, key, std::string(duration_ns.status().message()));
    if (static_cast<double>(*duration_ns) < key.least) return Wrong(node, key, "a duration above 0 is expected");
    member = *duration_ns;
    return absl::OkStatus();
  }

  const TomlFile file_;
  Config config_;
};

}  // namespace

std::optional<std::string> RegexProblem(const std::string& pattern) {
  regex_t regex;
  const int code = regcomp(&regex, pattern.c_str(), REG_EXTENDED | REG_NOSUB);
  if (code == 0) {
    regfree(&regex);
    return std::nullopt;
  }
  char message[256];
  regerror(code, &regex, message, sizeof message);
  return std::string(message);
}

absl::StatusOr<Config> ParseConfig(std::string_view text, const std::string& path) {
  return ConfigParser(path).Parse(text);
}

absl::StatusOr<Config> LoadConfig() {
  std::error_code error;
  const fs::path working_folder = fs::current_path(error);
  if (error) return absl::NotFoundError(fmt::format("finding the working folder: {}", error.message()));
  for (fs::path folder = working_folder;; folder = folder.parent_path()) {
    const fs::path path = folder / kFileName;
    const absl::StatusOr<std::string> text = ReadConfigFile(path);
    if (text.ok()) return ParseConfig(*text, path);
    if (!absl::IsNotFound(text.status())) return text.status();
    if (folder == folder.root_path()) break;
  }
  Config config;
  config.folder = working_folder;
  return config;
}

}  // namespace stallhound::cli
