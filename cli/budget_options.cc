#include "cli/budget_options.h"

#include <absl/strings/str_cat.h>

#include <CLI/CLI.hpp>

#include "base/file.h"
#include "base/status_macros.h"
#include "cli/budget_file.h"
#include "cli/option_checks.h"

namespace stallhound::cli {
namespace {

// A FIFO may be read, as of <(...); what never ends is no budget.
constexpr size_t kMostBudgetBytes = 16 << 20;

}  // namespace

void AddBudgetOptions(CLI::App& command, BudgetOptions& options) {
  constexpr char kGroup[] = "Budget";
  command.add_option("--budget", options.file, "Limits and allowed sites, a TOML file")
      ->type_name("FILE")
      ->group(kGroup);
  command.add_option("--max-waits", options.max_waits, "At most so many waits in each occurrence of --range")
      ->check(WholeNumber(0, kLargestLimit))
      ->type_name("N")
      ->group(kGroup);
  command
      .add_option("--max-recoverable-ratio", options.max_recoverable_ratio,
                  "At most this share of the measured time is lost to stalls, 0 to 1")
      ->check(Ratio())
      ->type_name("RATIO")
      ->group(kGroup);
}

absl::StatusOr<analysis::Budget> LoadBudget(const BudgetOptions& options, const std::string& range) {
  analysis::Budget budget;
  if (!options.file.empty()) {
    const absl::StatusOr<std::string> text = ReadFile(options.file, kMostBudgetBytes);
    if (!text.ok()) {
      return absl::Status(text.status().code(), absl::StrCat("reading the budget: ", text.status().message()));
    }
    SH_ASSIGN_OR_RETURN(budget, ParseBudget(*text, options.file));
  }
  if (options.max_waits) {
    budget.limits.push_back({analysis::BudgetQuantity::kWaits, static_cast<double>(*options.max_waits), std::nullopt});
  }
  if (options.max_recoverable_ratio) {
    budget.limits.push_back(
        {analysis::BudgetQuantity::kRecoverableRatio, *options.max_recoverable_ratio, std::nullopt});
  }
  for (analysis::BudgetLimit& limit : budget.limits) {
    if (!limit.range && !range.empty()) limit.range = range;
  }
  return budget;
}

}  // namespace stallhound::cli
