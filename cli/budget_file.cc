#include "cli/budget_file.h"

#include <absl/strings/str_join.h>
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#define TOML_EXCEPTIONS 0
#include <toml++/toml.h>

#include "base/status_macros.h"
#include "base/units.h"
#include "cli/suggest.h"

namespace stallhound::cli {
namespace {

using analysis::AllowanceBy;
using analysis::BudgetQuantity;

class BudgetParser {
 public:
  explicit BudgetParser(const std::string& path) : path_(path) {}

  absl::StatusOr<analysis::Budget> Parse(std::string_view text) {
    const toml::parse_result result = toml::parse(text);
    if (!result) {
      const toml::parse_error& error = result.error();
      return absl::InvalidArgumentError(fmt::format("reading the budget '{}', line {}: {}", path_,
                                                    error.source().begin.line, std::string(error.description())));
    }
    const toml::table& root = result.table();
    SH_RETURN_IF_ERROR(CheckKeys(root, {"range", "allow"}));
    SH_RETURN_IF_ERROR(ForEachTable(root, "range", [&](const toml::table& table) { return AddRange(table); }));
    SH_RETURN_IF_ERROR(ForEachTable(root, "allow", [&](const toml::table& table) { return AddAllowance(table); }));
    if (budget_.limits.empty()) {
      return absl::InvalidArgumentError(fmt::format(
          "reading the budget '{}': it holds no limit; begin with [[range]] and a line such as max-waits = 0", path_));
    }
    return std::move(budget_);
  }

 private:
  absl::Status Error(const toml::node& node, std::string_view key, const std::string& cause) const {
    return absl::InvalidArgumentError(
        fmt::format("reading the budget '{}', line {}: {}: {}", path_, node.source().begin.line, key, cause));
  }

  absl::Status CheckKeys(const toml::table& table, const std::vector<std::string>& known) const {
    for (const auto& [key, value] : table) {
      const std::string name(key.str());
      if (std::find(known.begin(), known.end(), name) != known.end()) continue;
      const std::optional<std::string> closest = ClosestWord(name, known);
      return absl::InvalidArgumentError(fmt::format(
          "reading the budget '{}', line {}: {}: unknown key{} (known here: {})", path_, key.source().begin.line, name,
          closest ? fmt::format("; did you mean '{}'?", *closest) : "", absl::StrJoin(known, ", ")));
    }
    return absl::OkStatus();
  }

  template <typename Add>
  absl::Status ForEachTable(const toml::table& root, std::string_view key, Add&& add) const {
    const toml::node* node = root.get(key);
    if (node == nullptr) return absl::OkStatus();
    const toml::array* tables = node->as_array();
    if (tables == nullptr) return Error(*node, key, fmt::format("an array of tables is expected: [[{}]]", key));
    for (const toml::node& item : *tables) {
      if (!item.is_table()) return Error(item, key, fmt::format("a table is expected: [[{}]]", key));
      SH_RETURN_IF_ERROR(add(*item.as_table()));
    }
    return absl::OkStatus();
  }

  // Null: the key is not there.
  absl::StatusOr<std::optional<std::string>> Text(const toml::table& table, std::string_view key) const {
    const toml::node* node = table.get(key);
    if (node == nullptr) return std::optional<std::string>();
    const std::optional<std::string> text = node->value_exact<std::string>();
    if (!text || text->empty()) return Error(*node, key, "a text in quotes is expected");
    return text;
  }

  absl::Status AddRange(const toml::table& table) {
    std::vector<std::string> known = {"name"};
    for (int i = 0; i < analysis::kBudgetQuantityCount; ++i) {
      known.emplace_back(BudgetQuantityName(static_cast<BudgetQuantity>(i)));
    }
    SH_RETURN_IF_ERROR(CheckKeys(table, known));
    SH_ASSIGN_OR_RETURN(const std::optional<std::string> name, Text(table, "name"));
    for (int i = 0; i < analysis::kBudgetQuantityCount; ++i) {
      const auto quantity = static_cast<BudgetQuantity>(i);
      const toml::node* node = table.get(BudgetQuantityName(quantity));
      if (node == nullptr) continue;
      SH_ASSIGN_OR_RETURN(const double limit, Limit(quantity, *node));
      budget_.limits.push_back({quantity, limit, name});
    }
    return absl::OkStatus();
  }

  absl::StatusOr<double> Limit(BudgetQuantity quantity, const toml::node& node) const {
    const char* key = BudgetQuantityName(quantity);
    if (quantity == BudgetQuantity::kRecoverableRatio) {
      const std::optional<double> ratio = node.value<double>();
      if (!ratio || !node.is_number() || !(*ratio >= 0 && *ratio <= 1)) {
        return Error(node, key, "a ratio from 0 to 1 is expected, such as 0.05");
      }
      return *ratio;
    }
    const std::optional<std::string> text = node.value_exact<std::string>();
    if (quantity == BudgetQuantity::kBytes && text) {
      const absl::StatusOr<uint64_t> bytes = ParseBytes(*text);
      if (!bytes.ok()) return Error(node, key, std::string(bytes.status().message()));
      return static_cast<double>(*bytes);
    }
    const std::optional<int64_t> count = node.value_exact<int64_t>();
    if (count && *count >= 0) return static_cast<double>(*count);
    return Error(node, key,
                 quantity == BudgetQuantity::kBytes ? "a size is expected, such as 4096 or \"64KiB\""
                                                    : "a whole number from 0 on is expected");
  }

  absl::Status AddAllowance(const toml::table& table) {
    constexpr std::pair<const char*, AllowanceBy> kBy[] = {
        {"site", AllowanceBy::kSite}, {"function", AllowanceBy::kFunction}, {"operator", AllowanceBy::kOperator}};
    SH_RETURN_IF_ERROR(CheckKeys(table, {"site", "function", "operator", "reason", "expires"}));
    analysis::Allowance allowance;
    for (const auto& [key, by] : kBy) {
      SH_ASSIGN_OR_RETURN(const std::optional<std::string> what, Text(table, key));
      if (!what) continue;
      if (!allowance.what.empty()) return Error(table, key, "an [[allow]] names a site, a function or an operator");
      allowance.by = by;
      allowance.what = *what;
    }
    if (allowance.what.empty()) return Error(table, "allow", "site = \"file:line\", function or operator is missing");
    if (allowance.by == AllowanceBy::kSite) {
      const size_t colon = allowance.what.rfind(':');
      if (colon == std::string::npos || !ParseInteger(allowance.what.substr(colon + 1))) {
        return Error(*table.get("site"), "site", fmt::format("'{}' is no file:line", allowance.what));
      }
    }
    SH_ASSIGN_OR_RETURN(const std::optional<std::string> reason, Text(table, "reason"));
    if (!reason) return Error(table, "allow", "reason is missing: why may it wait?");
    allowance.reason = *reason;
    const toml::node* expires = table.get("expires");
    const std::optional<toml::date> date = expires == nullptr ? std::nullopt : expires->value_exact<toml::date>();
    if (!date) {
      return Error(expires == nullptr ? static_cast<const toml::node&>(table) : *expires, "expires",
                   "a date without quotes is expected, the last day on which it allows: expires = 2027-01-31");
    }
    allowance.expires = absl::CivilDay(date->year, date->month, date->day);
    budget_.allowances.push_back(std::move(allowance));
    return absl::OkStatus();
  }

  const std::string& path_;
  analysis::Budget budget_;
};

}  // namespace

absl::StatusOr<analysis::Budget> ParseBudget(std::string_view text, const std::string& path) {
  return BudgetParser(path).Parse(text);
}

}  // namespace stallhound::cli
