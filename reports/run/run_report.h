#pragma once

// A run of the history, and a list of runs, as values for their reports. Unknown is null, never 0.

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/gate/count_range.h"
#include "reports/gate/gate_report.h"

namespace stallhound::reports {

// A place that waits; times over the counted window.
struct RunSite {
  std::string kind;  // "wait"
  std::optional<std::string> file;
  std::optional<int64_t> line;
  std::optional<std::string> function;
  std::optional<std::string> native_symbol;
  std::optional<std::string> api;
  int64_t count = 0;
  std::optional<int64_t> blocked_ns;
  std::optional<int64_t> idle_ns;
  std::optional<int64_t> recoverable_ns;
  std::optional<std::string> operator_name;  // "aten::nonzero"
};

struct RunBenchmark {
  std::string suite;
  std::string name;     // layer/variant/dtype/shape/pass
  std::string outcome;  // "measured", "failed", "skipped"
  std::optional<std::string> message;
  std::optional<double> time_ns;           // median
  std::vector<int64_t> round_times_ns;     // of each process, in the order measured
  std::optional<double> copy_ns;           // of a copy that reads and writes as many bytes, measured beside it
  std::optional<int64_t> iteration_count;  // of the counted window
  // Per iteration.
  std::optional<analysis::gate::CountRange> kernel_count;
  std::optional<analysis::gate::CountRange> wait_count;
  std::optional<analysis::gate::CountRange> copy_count;
  std::vector<RunSite> sites;
};

struct RunReport {
  GateRun run;
  std::string status;  // "complete", "interrupted"
  std::optional<int64_t> duration_ns;
  std::string producer;  // version of what measured
  std::vector<std::pair<std::string, std::optional<std::string>>> environment;
  std::vector<RunBenchmark> benchmarks;
  std::optional<GateReport> gate;  // what was said last
};

// A line of the list of runs.
struct RunSummary {
  GateRun run;
  std::string status;
  int64_t case_count = 0;
  std::optional<std::string> answer;  // of the newest judgement; null: not judged
};

}  // namespace stallhound::reports
