#pragma once

// A budget as a TOML file (https://toml.io, 1.0).

#include <absl/status/statusor.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "analysis/hunt/budget.h"

namespace stallhound::cli {

// Limits are compared as doubles, which hold whole numbers exactly up to here.
inline constexpr int64_t kLargestLimit = int64_t{1} << 53;

// `path` is for messages only. Limits of a [[range]] without a name have no range. Errors: InvalidArgument with the
// line and the key: no TOML, unknown keys (with the nearest known one), values of a wrong type or sign or above
// kLargestLimit, no limit at all, an allowance without reason or expiry date.
absl::StatusOr<analysis::Budget> ParseBudget(std::string_view text, const std::string& path);

}  // namespace stallhound::cli
