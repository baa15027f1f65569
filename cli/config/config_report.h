#pragma once

// The configuration and its keys, printed.

#include <absl/status/statusor.h>

#include <span>
#include <string>

#include "cli/config/config.h"
#include "cli/config/config_keys.h"

namespace stallhound::cli {

using ConfigKeyList = std::span<const ConfigKey* const>;

// The values of `keys` as a valid stallhound.toml that means the same, each with its place: "default" or file:line.
std::string ConfigToml(Config config, ConfigKeyList keys);

// {"path", "folder", "values": [{"key", "value", "unit", "line"}]}: durations in ns; null is no file, unset, default.
absl::StatusOr<std::string> ConfigJson(Config config, ConfigKeyList keys);

// Meaning, type, unit, default and an example of each key.
std::string ExplainKeysText(ConfigKeyList keys);

// [{"key", "meaning", "type", "range", "unit", "default", "example"}], values as TOML.
absl::StatusOr<std::string> ExplainKeysJson(ConfigKeyList keys);

}  // namespace stallhound::cli
