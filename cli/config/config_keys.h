#pragma once

// Every key of stallhound.toml as data: what reads the file, suggests the nearest key, prints and documents the
// configuration.

#include <absl/status/statusor.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "cli/config/config.h"

namespace stallhound::cli {

// The member that a key sets. An optional is a duration in ns, written "500ms", and may be left unset.
using ConfigMember = std::variant<std::string*, int64_t*, double*, std::optional<int64_t>*>;

struct ConfigKey {
  std::string_view section;  // "bench"; of kBudgetSection each [[gate.budget]] needs all keys
  std::string_view name;     // "record-iterations"
  std::string_view unit;     // of the value as it is written; empty: none
  std::string_view meaning;
  std::string_view example;  // a value as TOML
  // `budget`: which of the budgets, for keys of kBudgetSection.
  ConfigMember (*member)(Config& config, size_t budget);
  double least = 0;  // bounds of a number, both allowed
  double most = 0;
  bool is_regex = false;  // POSIX extended, which is what --benchmark_filter takes
};

inline constexpr std::string_view kBudgetSection = "gate.budget";

// In the order of the sections.
std::span<const ConfigKey> ConfigKeys();

// "bench.rounds".
std::string FullName(const ConfigKey& key);

// "text", "whole number", "number", "duration".
std::string_view TypeName(const ConfigKey& key);

// Of a number: "from 1 to 1000"; else empty.
std::string Bounds(const ConfigKey& key);

// The key of this full name, or all of the section of this name. Errors: NotFound, with the nearest name.
absl::StatusOr<std::vector<const ConfigKey*>> FindConfigKeys(const std::string& name);

// As TOML; nullopt: unset.
std::optional<std::string> TomlValue(const ConfigMember& member);

}  // namespace stallhound::cli
