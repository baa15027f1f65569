#pragma once

// What all TOML files of ours have in common: errors that name the line and the key, keys that must be known.

#include <absl/status/statusor.h>

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#define TOML_EXCEPTIONS 0
#include <toml++/toml.h>

namespace stallhound::cli {

// Every error is InvalidArgument: "reading <subject>, line 3: <key>: <cause>".
class TomlFile {
 public:
  // `subject`: "the budget 'ci/budget.toml'".
  explicit TomlFile(std::string subject) : subject_(std::move(subject)) {}

  const std::string& subject() const { return subject_; }
  absl::StatusOr<toml::table> Parse(std::string_view text) const;
  absl::Status Error(const toml::node& node, std::string_view key, std::string_view cause) const;
  // An unknown key is an error that names the nearest known one, or all.
  absl::Status CheckKeys(const toml::table& table, const std::vector<std::string>& known) const;
  // Calls `add` for each [[name]]; `tables` is null if there is none.
  absl::Status ForEachTable(const toml::node* tables, std::string_view name,
                            const std::function<absl::Status(const toml::table&)>& add) const;
  // nullopt: the key is not there. Error: no text, or an empty one.
  absl::StatusOr<std::optional<std::string>> Text(const toml::table& table, std::string_view key) const;

 private:
  std::string subject_;
};

}  // namespace stallhound::cli
