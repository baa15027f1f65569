#include "cli/toml_file.h"

#include <absl/strings/str_join.h>
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/status_macros.h"
#include "cli/suggest.h"

namespace stallhound::cli {

absl::StatusOr<toml::table> TomlFile::Parse(std::string_view text) const {
  toml::parse_result result = toml::parse(text);
  if (!result) {
    const toml::parse_error& error = result.error();
    return absl::InvalidArgumentError(
        fmt::format("reading {}, line {}: {}", subject_, error.source().begin.line, std::string(error.description())));
  }
  return std::move(result).table();
}

absl::Status TomlFile::Error(const toml::node& node, std::string_view key, std::string_view cause) const {
  return absl::InvalidArgumentError(
      fmt::format("reading {}, line {}: {}: {}", subject_, node.source().begin.line, key, cause));
}

absl::Status TomlFile::CheckKeys(const toml::table& table, const std::vector<std::string>& known) const {
  for (const auto& [key, value] : table) {
    const std::string name(key.str());
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    const std::optional<std::string> closest = ClosestWord(name, known);
    return absl::InvalidArgumentError(
        fmt::format("reading {}, line {}: {}: unknown key{} (known here: {})", subject_, key.source().begin.line, name,
                    closest ? fmt::format("; did you mean '{}'?", *closest) : "", absl::StrJoin(known, ", ")));
  }
  return absl::OkStatus();
}

absl::Status TomlFile::ForEachTable(const toml::node* tables, std::string_view name,
                                    const std::function<absl::Status(const toml::table&)>& add) const {
  if (tables == nullptr) return absl::OkStatus();
  const toml::array* items = tables->as_array();
  if (items == nullptr) return Error(*tables, name, fmt::format("an array of tables is expected: [[{}]]", name));
  for (const toml::node& item : *items) {
    if (!item.is_table()) return Error(item, name, fmt::format("a table is expected: [[{}]]", name));
    SH_RETURN_IF_ERROR(add(*item.as_table()));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::optional<std::string>> TomlFile::Text(const toml::table& table, std::string_view key) const {
  const toml::node* node = table.get(key);
  if (node == nullptr) return std::optional<std::string>();
  std::optional<std::string> text = node->value_exact<std::string>();
  if (!text) return Error(*node, key, "a text in quotes is expected");
  if (text->empty()) return Error(*node, key, "the text is empty; give one or leave the key out");
  return text;
}

}  // namespace stallhound::cli
