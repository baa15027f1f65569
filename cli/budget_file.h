#pragma once

// A budget as a TOML file (https://toml.io, 1.0).

#include <absl/status/statusor.h>

#include <string>
#include <string_view>

#include "analysis/hunt/budget.h"

namespace stallhound::cli {

// `path` is for messages only. Limits of a [[range]] without a name have no range. Errors: InvalidArgument with the
// line and the key: no TOML, unknown keys (with the nearest known one), values of a wrong type or sign, no limit at
// all, an allowance without reason or expiry date.
absl::StatusOr<analysis::Budget> ParseBudget(std::string_view text, const std::string& path);

}  // namespace stallhound::cli
