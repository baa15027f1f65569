#pragma once

// What a gate says, as values for its reports.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/gate/difference.h"
#include "analysis/gate/verdict.h"

namespace stallhound::reports {

struct GateRun {
  std::string uuid;
  int64_t started_at_ns = 0;  // since 1970-01-01 UTC
  std::optional<std::string> commit;
  std::optional<std::string> branch;
  std::string machine;
  std::optional<std::string> device;  // null: not recorded
};

struct GateVerdict {
  std::string suite;
  std::string benchmark;
  std::string metric;
  analysis::gate::Answer answer = analysis::gate::Answer::kInconclusive;
  std::string reason;                  // its code
  std::string change;                  // "0 -> 1"; empty: nothing to say
  std::optional<double> effect_ratio;  // run / baseline
  std::optional<double> interval_low_ratio;
  std::optional<double> interval_high_ratio;
  std::optional<double> p_value;
  std::optional<double> q_value;
  std::optional<double> smallest_p_value;
  std::optional<double> detectable_effect_ratio;  // 0.02: a slow-down of 2% would have been seen
  std::optional<int64_t> baseline_round_count;
  std::optional<int64_t> run_round_count;
};

// What is new in a case, and what is gone.
struct GateDifference {
  std::string benchmark;
  analysis::gate::KernelDifference kernels;
  analysis::gate::SiteDifference sites;
};

struct GateReport {
  GateRun run;
  std::vector<GateRun> baselines;
  std::vector<GateVerdict> verdicts;  // by suite, benchmark and metric
  std::vector<GateDifference> differences;
  std::vector<std::string> notes;
  std::optional<int> exit_code;  // null: only told, not gated
  bool is_interrupted = false;   // the run was
};

// The answer over all verdicts; of an interrupted run no better than inconclusive.
analysis::gate::Answer OverallAnswer(const GateReport& report);

// How many verdicts have this answer.
int64_t AnswerCount(const GateReport& report, analysis::gate::Answer answer);

}  // namespace stallhound::reports
