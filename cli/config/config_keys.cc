#include "cli/config/config_keys.h"

#include <fmt/format.h>

#include <iterator>
#include <limits>
#include <type_traits>
#include <utility>

#include "cli/suggest.h"

namespace stallhound::cli {
namespace {

constexpr double kAnyNumber = std::numeric_limits<double>::infinity();

constexpr ConfigKey kKeys[] = {
    {"bench", "binary", "", "The benchmark program; a relative path starts at the file's folder.", R"("build/bench")",
     [](Config& c, size_t) -> ConfigMember { return &c.bench.binary; }},
    {"bench", "suite", "", "Name of the suite in the history. Runs of different suites are never compared.",
     R"("nightly")", [](Config& c, size_t) -> ConfigMember { return &c.bench.suite; }},
    {.section = "bench",
     .name = "filter",
     .unit = "",
     .meaning = "Which benchmarks belong to the suite: an extended regular expression that a part of the id matches.",
     .example = R"("^layer_norm/optimized/")",
     .member = [](Config& c, size_t) -> ConfigMember { return &c.bench.filter; },
     .is_regex = true},
    {"bench", "rounds", "processes",
     "Fresh processes that time every case. The gate screens times from 8 on; fewer are judged by counts alone.", "16",
     [](Config& c, size_t) -> ConfigMember { return &c.bench.rounds; }, 1, 1000},
    {"bench", "record-iterations", "iterations",
     "Iterations of each case in the pass under the recorder: two or more to settle, then at least ten to count.", "50",
     [](Config& c, size_t) -> ConfigMember { return &c.bench.record_iterations; }, 12, 1'000'000},
    {"bench", "min-time", "duration",
     "Least time to sample a case in one process. Unset: the bench's own rule (0.5 s, more where times vary).",
     R"("50ms")", [](Config& c, size_t) -> ConfigMember { return &c.bench.min_time_ns; }, 1, kAnyNumber},
    {"bench", "round-timeout", "duration", "A benchmark process that takes longer is ended. Unset: none is.",
     R"("30min")", [](Config& c, size_t) -> ConfigMember { return &c.bench.round_timeout_ns; }, 1, kAnyNumber},
    {"gate", "q", "ratio", "Share of false ones to be expected among the changes of time that are confirmed.", "0.01",
     [](Config& c, size_t) -> ConfigMember { return &c.gate.q; }, 0.0001, 0.5},
    {"gate", "time-budget-ratio", "ratio",
     "Change of a case's time that is nobody's business, where no [[gate.budget]] matches; 0.01 is 1%.", "0.01",
     [](Config& c, size_t) -> ConfigMember { return &c.gate.time_budget_ratio; }, 0, 10},
    {"gate", "baseline", "", "Name of the baseline that runs are compared with.", R"("release")",
     [](Config& c, size_t) -> ConfigMember { return &c.gate.baseline; }},
    {kBudgetSection, "benchmark", "",
     "Glob of the benchmark ids that this budget is for; the last that matches counts.", R"("radius_search/*/fp32/*")",
     [](Config& c, size_t i) -> ConfigMember { return &c.gate.budgets[i].benchmark; }},
    {kBudgetSection, "ratio", "ratio", "Change of these cases' time that is nobody's business; 0.02 is 2%.", "0.02",
     [](Config& c, size_t i) -> ConfigMember { return &c.gate.budgets[i].ratio; }, 0, 10},
};

// In the largest unit that divides it, so that it is read as the same number again.
std::string ExactDuration(int64_t duration_ns) {
  constexpr std::pair<int64_t, const char*> kUnits[] = {
      {3'600'000'000'000, "h"}, {60'000'000'000, "min"}, {1'000'000'000, "s"}, {1'000'000, "ms"}, {1000, "us"}};
  for (const auto& [unit_ns, unit] : kUnits) {
    if (duration_ns % unit_ns == 0) return fmt::format("{}{}", duration_ns / unit_ns, unit);
  }
  return fmt::format("{}ns", duration_ns);
}

// A basic string of TOML.
std::string Quoted(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      quoted += {'\\', c};
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      quoted += fmt::format("\\u{:04X}", c);
    } else {
      quoted += c;
    }
  }
  return quoted + "\"";
}

}  // namespace

std::span<const ConfigKey> ConfigKeys() { return kKeys; }

std::string FullName(const ConfigKey& key) { return fmt::format("{}.{}", key.section, key.name); }

std::string_view TypeName(const ConfigKey& key) {
  Config config;
  config.gate.budgets.emplace_back();
  constexpr std::string_view kNames[] = {"text", "whole number", "number", "duration"};
  static_assert(std::size(kNames) == std::variant_size_v<ConfigMember>);
  return kNames[key.member(config, 0).index()];
}

std::string Bounds(const ConfigKey& key) {
  if (TypeName(key) != "number" && TypeName(key) != "whole number") return "";
  return fmt::format("from {} to {}", key.least, key.most);
}

absl::StatusOr<std::vector<const ConfigKey*>> FindConfigKeys(const std::string& name) {
  std::vector<const ConfigKey*> keys;
  std::vector<std::string> known;
  for (const ConfigKey& key : kKeys) {
    if (FullName(key) == name || key.section == name) keys.push_back(&key);
    known.push_back(FullName(key));
  }
  if (!keys.empty()) return keys;
  const std::optional<std::string> closest = ClosestWord(name, known);
  return absl::NotFoundError(
      fmt::format("explaining the key '{0}': there is no '{0}'; {1}", name,
                  closest ? fmt::format("did you mean '{}'?", *closest) : "'stallhound config --explain' lists all"));
}

std::optional<std::string> TomlValue(const ConfigMember& member) {
  return std::visit(
      [](const auto* value) -> std::optional<std::string> {
        using Value = std::remove_cvref_t<decltype(*value)>;
        if constexpr (std::is_same_v<Value, std::string>) {
          return Quoted(*value);
        } else if constexpr (std::is_same_v<Value, std::optional<int64_t>>) {
          if (!*value) return std::nullopt;
          return Quoted(ExactDuration(**value));
        } else {
          return fmt::format("{}", *value);
        }
      },
      member);
}

}  // namespace stallhound::cli
