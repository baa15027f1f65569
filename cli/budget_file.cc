#include "cli/budget_file.h"

#include <fmt/format.h>

#include <optional>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "base/units.h"
#include "cli/toml_file.h"

namespace stallhound::cli {
namespace {

using analysis::AllowanceBy;
using analysis::BudgetQuantity;

// file:line as reports print it; any other spelling of the line would fit no site.
bool IsSite(std::string_view text) {
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return false;
  const std::optional<int64_t> line = ParseInteger(text.substr(colon + 1));
  return line && *line > 0 && fmt::to_string(*line) == text.substr(colon + 1);
}

class BudgetParser {
 public:
  explicit BudgetParser(const std::string& path) : file_(fmt::format("the budget '{}'", path)) {}

  absl::StatusOr<analysis::Budget> Parse(std::string_view text) {
    SH_ASSIGN_OR_RETURN(const toml::table root, file_.Parse(text));
    SH_RETURN_IF_ERROR(file_.CheckKeys(root, {"range", "allow"}));
    SH_RETURN_IF_ERROR(
        file_.ForEachTable(root.get("range"), "range", [&](const toml::table& table) { return AddRange(table); }));
    SH_RETURN_IF_ERROR(
        file_.ForEachTable(root.get("allow"), "allow", [&](const toml::table& table) { return AddAllowance(table); }));
    if (budget_.limits.empty()) {
      return absl::InvalidArgumentError(fmt::format(
          "reading {}: it holds no limit; begin with [[range]] and a line such as max-waits = 0", file_.subject()));
    }
    return std::move(budget_);
  }

 private:
  absl::Status AddRange(const toml::table& table) {
    std::vector<std::string> known = {"name"};
    for (int i = 0; i < analysis::kBudgetQuantityCount; ++i) {
      known.emplace_back(BudgetQuantityName(static_cast<BudgetQuantity>(i)));
    }
    SH_RETURN_IF_ERROR(file_.CheckKeys(table, known));
    SH_ASSIGN_OR_RETURN(const std::optional<std::string> name, file_.Text(table, "name"));
    const size_t limits_before = budget_.limits.size();
    for (int i = 0; i < analysis::kBudgetQuantityCount; ++i) {
      const auto quantity = static_cast<BudgetQuantity>(i);
      const toml::node* node = table.get(BudgetQuantityName(quantity));
      if (node == nullptr) continue;
      SH_ASSIGN_OR_RETURN(const double limit, Limit(quantity, *node));
      budget_.limits.push_back({quantity, limit, name});
    }
    if (budget_.limits.size() == limits_before) {
      return file_.Error(table, "range", "it holds no limit; give it a line such as max-waits = 0");
    }
    return absl::OkStatus();
  }

  absl::StatusOr<double> Limit(BudgetQuantity quantity, const toml::node& node) const {
    const char* key = BudgetQuantityName(quantity);
    if (quantity == BudgetQuantity::kRecoverableRatio) {
      const std::optional<double> ratio = node.value<double>();
      if (!ratio || !node.is_number() || !(*ratio >= 0 && *ratio <= 1)) {
        return file_.Error(node, key, "a ratio from 0 to 1 is expected, such as 0.05");
      }
      return *ratio;
    }
    const std::optional<std::string> text = node.value_exact<std::string>();
    if (quantity == BudgetQuantity::kBytes && text) {
      const absl::StatusOr<uint64_t> bytes = ParseBytes(*text);
      if (!bytes.ok()) return file_.Error(node, key, std::string(bytes.status().message()));
      if (*bytes > uint64_t{kLargestLimit}) return TooLarge(node, key);
      return static_cast<double>(*bytes);
    }
    const std::optional<int64_t> count = node.value_exact<int64_t>();
    if (count && *count > kLargestLimit) return TooLarge(node, key);
    if (count && *count >= 0) return static_cast<double>(*count);
    return file_.Error(node, key,
                       quantity == BudgetQuantity::kBytes ? "a size is expected, such as 4096 or \"64KiB\""
                                                          : "a whole number from 0 on is expected");
  }

  absl::Status TooLarge(const toml::node& node, const char* key) const {
    return file_.Error(node, key, fmt::format("it is above the largest limit, {}", kLargestLimit));
  }

  absl::Status AddAllowance(const toml::table& table) {
    constexpr std::pair<const char*, AllowanceBy> kBy[] = {
        {"site", AllowanceBy::kSite}, {"function", AllowanceBy::kFunction}, {"operator", AllowanceBy::kOperator}};
    SH_RETURN_IF_ERROR(file_.CheckKeys(table, {"site", "function", "operator", "reason", "expires"}));
    analysis::Allowance allowance;
    for (const auto& [key, by] : kBy) {
      SH_ASSIGN_OR_RETURN(const std::optional<std::string> what, file_.Text(table, key));
      if (!what) continue;
      if (!allowance.what.empty()) {
        return file_.Error(table, key, "an [[allow]] names a site, a function or an operator");
      }
      allowance.by = by;
      allowance.what = *what;
    }
    if (allowance.what.empty())
      return file_.Error(table, "allow", "site = \"file:line\", function or operator is missing");
    if (allowance.by == AllowanceBy::kSite && !IsSite(allowance.what)) {
      return file_.Error(*table.get("site"), "site",
                         fmt::format("'{}' is no file:line, such as train.py:27", allowance.what));
    }
    SH_ASSIGN_OR_RETURN(const std::optional<std::string> reason, file_.Text(table, "reason"));
    if (!reason) return file_.Error(table, "allow", "reason is missing: why may it wait?");
    allowance.reason = *reason;
    const toml::node* expires = table.get("expires");
    if (expires == nullptr) {
      return file_.Error(table, "allow",
                         "expires is missing: the last day on which it allows, such as expires = 2027-01-31");
    }
    const std::optional<toml::date> date = expires->value_exact<toml::date>();
    if (!date) {
      return file_.Error(*expires, "expires",
                         "a date without quotes is expected, the last day on which it allows: expires = 2027-01-31");
    }
    allowance.expires = absl::CivilDay(date->year, date->month, date->day);
    budget_.allowances.push_back(std::move(allowance));
    return absl::OkStatus();
  }

  const TomlFile file_;
  analysis::Budget budget_;
};

}  // namespace

absl::StatusOr<analysis::Budget> ParseBudget(std::string_view text, const std::string& path) {
  return BudgetParser(path).Parse(text);
}

}  // namespace stallhound::cli
