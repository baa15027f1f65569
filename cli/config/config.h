#pragma once

// stallhound.toml: what a project decides once about its benchmarks. TOML 1.0 (https://toml.io).

#include <absl/status/statusor.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stallhound::cli {

// [bench]
struct BenchConfig {
  std::string binary = "bazel-bin/bench/bench";  // relative to the file's folder
  std::string suite = "bench";                   // name of the suite in the history
  std::string filter = ".";                      // regular expression of benchmark ids
  int64_t rounds = 8;                            // fresh processes that time every case
  int64_t record_iterations = 20;                // of each case, under the recorder
  std::optional<int64_t> min_time_ns;            // least sampling time of a case; unset: the bench's own rule
  std::optional<int64_t> round_timeout_ns;       // a process that takes longer is ended; unset: none
};

// [[gate.budget]]: a change of time that is nobody's business.
struct TimeBudget {
  std::string benchmark;  // glob of the id
  double ratio = 0;       // 0.02: 2%
};

// [gate]
struct GateConfig {
  double q = 0.05;                   // expected share of false ones among the confirmed
  double time_budget_ratio = 0.005;  // where no [[gate.budget]] matches
  std::vector<TimeBudget> budgets;   // the last that matches counts
  std::string baseline = "main";     // name of the baseline to compare with
};

struct Config {
  BenchConfig bench;
  GateConfig gate;
  std::string folder;  // of the file, absolute; without a file the working folder
  std::string path;    // empty: there is no file, all is default
  // Lines of the keys that the file holds: {"bench.rounds", 3}, {"gate.budget[0].ratio", 9}.
  std::map<std::string, int64_t> lines;
};

// Why `pattern` is no extended regular expression; nullopt: it is one.
std::optional<std::string> RegexProblem(const std::string& pattern);

// The nearest stallhound.toml of the working folder and those above it; without one the defaults. Errors:
// InvalidArgument with line and key: no TOML, an unknown key (with the nearest known one), a value of a wrong type or
// out of range; without them: no regular file, or more than 1 MiB.
absl::StatusOr<Config> LoadConfig();

// The same of a file's text; `path` becomes Config::path, its parent Config::folder.
absl::StatusOr<Config> ParseConfig(std::string_view text, const std::string& path);

}  // namespace stallhound::cli
