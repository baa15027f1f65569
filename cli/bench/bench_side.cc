#include "cli/bench/bench_side.h"

#include <absl/strings/str_join.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/clock.h"
#include "base/stats/samples.h"
#include "base/status_macros.h"
#include "base/version.h"
#include "cli/bench/benchmark_results.h"
#include "cli/bench/declared_counts.h"
#include "cli/bench/run_environment.h"
#include "cli/bench/work_tree.h"
#include "cli/home.h"
#include "record/control/environment.h"

namespace stallhound::cli {

BenchSide::BenchSide(const MeasureRequest& request)
    : request_(request),
      program_{.binary = request.bench.binary,
               .filter = request.bench.filter,
               .min_time_ns = request.bench.min_time_ns,
               .timeout_ns = request.bench.round_timeout_ns,
               .identity = IdentityOf(request.bench.binary)},
      started_at_ns_(SystemClock().RealtimeNs()),
      started_monotonic_ns_(SystemClock().MonotonicNs()) {}

absl::Status BenchSide::AddRound(const std::string& name) {
  BenchPass pass;
  pass.name = name;
  pass.check = rounds_.empty();
  // A shell in which `stallhound env` was evaluated would have every round recorded.
  pass.variables = {{record::kDisable, "1"}};
  SH_ASSIGN_OR_RETURN(BenchOutput output, RunBench(program_, pass));
  if (rounds_.empty()) program_.context = output.context;
  rounds_.push_back(std::move(output));
  return absl::OkStatus();
}

absl::Status BenchSide::Record(const std::string& name, Console& console) {
  std::vector<std::string> ids;
  for (const store::BenchmarkResult& result : BenchmarkResults(request_.bench.suite, rounds_)) {
    if (result.outcome == store::BenchmarkOutcome::kMeasured) ids.push_back(result.name);
  }
  SH_ASSIGN_OR_RETURN(
      recorded_, RunRecordingPass({program_, name, request_.home, request_.bench.record_iterations, ids}, console));
  for (const analysis::CaseCounts& counts : recorded_->report.cases) {
    const std::vector<BenchRow>& rows = rounds_.front().rows;
    const auto row = std::find_if(rows.begin(), rows.end(), [&](const BenchRow& one) { return one.id == counts.id; });
    if (row == rows.end()) continue;
    for (const std::string& problem : DeclaredCountProblems(*row, counts)) console.Warn(problem);
  }
  return absl::OkStatus();
}

void BenchSide::FillClocks(store::RunInfo& info) const {
  std::optional<std::set<std::string>> reasons;
  std::vector<double> clocks;
  for (const BenchOutput& round : rounds_) {
    if (round.throttle_reasons) {
      if (!reasons) reasons.emplace();
      reasons->insert(round.throttle_reasons->begin(), round.throttle_reasons->end());
    }
    if (round.sm_clock_min_hz) {
      info.sm_clock_min_hz = std::min(info.sm_clock_min_hz.value_or(INT64_MAX), *round.sm_clock_min_hz);
    }
    for (const BenchRow& row : round.rows) {
      const auto clock = row.counters.find("sm_clock_hz");
      if (clock != row.counters.end()) clocks.push_back(clock->second);
    }
  }
  if (reasons) info.throttle_reasons = absl::StrJoin(*reasons, ",");
  if (!clocks.empty()) info.sm_clock_median_hz = std::llround(stats::MedianInPlace(clocks));
}

absl::StatusOr<store::RunRecord> BenchSide::Finish(store::RunStatus status,
                                                   const std::optional<std::string>& round_plan) const {
  store::RunRecord run;
  store::RunInfo& info = run.info;
  SH_ASSIGN_OR_RETURN(info.uuid, NewUuid());
  SH_ASSIGN_OR_RETURN(info.machine, MachineName(request_.home));
  if (!request_.source_folder.empty()) {
    if (std::optional<WorkTree> tree = ReadWorkTree(request_.source_folder)) {
      info.revision = std::move(tree->revision);
      info.branch = std::move(tree->branch);
      info.has_local_changes = tree->has_local_changes;
    }
  }
  info.started_at_ns = started_at_ns_;
  info.duration_ns = SystemClock().MonotonicNs() - started_monotonic_ns_;
  info.status = status;
  info.round_plan = round_plan;
  info.producer = std::string("stallhound ") + kVersion;
  FillEnvironment(recorded_ ? FingerprintOf(recorded_->report) : Fingerprint(),
                  rounds_.empty() ? std::map<std::string, std::string>() : rounds_.front().context, ReadHostFacts(),
                  info);
  FillClocks(info);
  run.benchmarks = BenchmarkResults(request_.bench.suite, rounds_);
  if (!recorded_) return run;
  info.analysis_version = analysis::kCasesVersion;
  info.captures.push_back(recorded_->capture);
  for (const analysis::CaseCounts& counts : recorded_->report.cases) {
    const auto result = std::find_if(run.benchmarks.begin(), run.benchmarks.end(),
                                     [&](const store::BenchmarkResult& one) { return one.name == counts.id; });
    if (result != run.benchmarks.end()) AddCounts(counts, *result);
  }
  return run;
}

}  // namespace stallhound::cli
