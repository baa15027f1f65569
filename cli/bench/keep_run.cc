#include "cli/bench/keep_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string_view>

#include "base/display_text.h"
#include "base/status_macros.h"
#include "base/units.h"
#include "cli/bench/benchmark_results.h"
#include "cli/home.h"
#include "store/history.h"

namespace stallhound::cli {
namespace {

using store::BenchmarkOutcome;
using store::BenchmarkResult;

constexpr int kAppendTries = 6;  // each waits for the lock timeout

// "1 case", "12 cases".
std::string Counted(int64_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

// Those that any case was timed in.
int64_t RoundCount(const store::RunRecord& run) {
  int64_t count = 0;
  for (const BenchmarkResult& result : run.benchmarks) {
    for (const store::Point& point : result.points) {
      for (const store::Sample& sample : point.samples) count = std::max(count, sample.round + 1);
    }
  }
  return count;
}

void WarnOfMissingRounds(const store::RunRecord& run, Console& console) {
  const int64_t round_count = RoundCount(run);
  for (const BenchmarkResult& result : run.benchmarks) {
    const auto time = std::find_if(result.points.begin(), result.points.end(), [](const store::Point& point) {
      return point.metric.name == kGpuTimeMetric || point.metric.name == kCpuTimeMetric;
    });
    const auto measured_count = time == result.points.end() ? round_count : static_cast<int64_t>(time->samples.size());
    if (measured_count >= round_count) continue;
    console.Warn(fmt::format("{} was timed in {} of {}: the bench did not report it in the others", result.name,
                             measured_count, Counted(round_count, "round")));
  }
}

template <typename Predicate>
int64_t CountIf(const store::RunRecord& run, Predicate&& predicate) {
  return std::count_if(run.benchmarks.begin(), run.benchmarks.end(), predicate);
}

bool HasFailed(const BenchmarkResult& result) { return result.outcome == BenchmarkOutcome::kFailed; }

// Sentences on counts; empty: all are there.
std::string CountProblems(const store::RunRecord& run) {
  const int64_t unsteady =
      CountIf(run, [](const BenchmarkResult& result) { return result.iteration_count && result.event_counts.empty(); });
  const int64_t incomplete =
      CountIf(run, [](const BenchmarkResult& result) { return result.counts_complete == false; });
  std::string text;
  if (unsteady > 0) {
    text += fmt::format("{} with too few steady iterations to be counted (bench.record-iterations)\n",
                        Counted(unsteady, "case"));
  }
  if (incomplete > 0) text += fmt::format("{} lost records while being counted\n", Counted(incomplete, "case"));
  return text;
}

}  // namespace

absl::Status CheckHistory(const std::string& home, Console& console) {
  SH_ASSIGN_OR_RETURN(const std::unique_ptr<store::History> history, store::OpenHistory(HistoryPath(home), {}));
  for (const std::string& warning : history->warnings()) console.Warn(warning);
  return absl::OkStatus();
}

int64_t FailedCaseCount(const store::RunRecord& run) { return CountIf(run, HasFailed); }

absl::Status KeepRun(const std::string& home, const store::RunRecord& run) {
  SH_ASSIGN_OR_RETURN(const std::unique_ptr<store::History> history, store::OpenHistory(HistoryPath(home), {}));
  absl::Status appended;
  for (int i = 0; i < kAppendTries; ++i) {
    appended = history->AppendRun(run).status();
    if (!absl::IsUnavailable(appended)) break;
  }
  return appended;
}

void PrintRun(const store::RunRecord& run, const std::string& home, Console& console) {
  for (const BenchmarkResult& result : run.benchmarks) {
    if (!HasFailed(result)) continue;
    console.Warn(fmt::format("{} failed: {}", result.name, DisplayableMessage(result.message.value_or(""))));
  }
  WarnOfMissingRounds(run, console);
  const int64_t failed = FailedCaseCount(run);
  const int64_t counted = CountIf(run, [](const BenchmarkResult& result) { return !result.event_counts.empty(); });
  const auto case_count = static_cast<int64_t>(run.benchmarks.size());
  console.Out(fmt::format("run {}{}: {} of suite '{}'{}, {} in {}, counts of {}\n", run.info.uuid,
                          run.info.status == store::RunStatus::kInterrupted ? " (interrupted)" : "",
                          Counted(case_count, "case"), run.benchmarks.empty() ? "" : run.benchmarks.front().suite,
                          failed > 0 ? fmt::format(" ({} failed)", failed) : "", Counted(RoundCount(run), "round"),
                          FormatDuration(run.info.duration_ns.value_or(0)), Counted(counted, "case")));
  console.Out(CountProblems(run));
  console.Out(fmt::format("kept in {}\n", HistoryPath(home)));
  for (const store::Capture& capture : run.info.captures) {
    console.Out(fmt::format("capture: {}/{}\n", home, capture.path));
  }
}

}  // namespace stallhound::cli
