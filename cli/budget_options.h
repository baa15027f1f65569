#pragma once

// The budget of a hunt on the command line.

#include <absl/status/statusor.h>

#include <cstdint>
#include <optional>
#include <string>

#include "analysis/hunt/budget.h"

namespace CLI {
class App;
}

namespace stallhound::cli {

struct BudgetOptions {
  std::string file;  // empty: none
  std::optional<int64_t> max_waits;
  std::optional<double> max_recoverable_ratio;
};

// Adds --budget, --max-waits and --max-recoverable-ratio.
void AddBudgetOptions(CLI::App& command, BudgetOptions& options);

// All limits asked for; those without a range of their own have `range` (empty: none). No limit: none was asked for.
// Errors: what reading and parsing the file say.
absl::StatusOr<analysis::Budget> LoadBudget(const BudgetOptions& options, const std::string& range);

}  // namespace stallhound::cli
