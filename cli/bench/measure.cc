#include "cli/bench/measure.h"

#include <absl/strings/str_join.h>
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/status_macros.h"
#include "cli/bench/bench_side.h"
#include "cli/interrupt.h"

namespace stallhound::cli {
namespace {

using analysis::gate::CaseRounds;
using analysis::gate::Side;

// What is being done, on one line of a terminal that it leaves clean.
class StatusLine {
 public:
  explicit StatusLine(Console& console) : console_(console) {}
  StatusLine(const StatusLine&) = delete;
  ~StatusLine() { Show(""); }
  void Show(const std::string& what) {
    if (!console_.err_is_terminal()) return;
    console_.Err(fmt::format("\r{}\x1b[K", what));
    console_.Flush().IgnoreError();
  }

 private:
  Console& console_;
};

// Warns unless a signal ended it: then nobody waits for counts.
void RecordOrWarn(BenchSide& side, const std::string& name, Console& console) {
  absl::Status recorded;
  {
    StatusLine line(console);
    line.Show(name);
    recorded = side.Record(name, console);
  }
  if (recorded.ok() || InterruptSignal() != 0) return;
  console.Warn(fmt::format("counts are unknown in this run: {}", std::string(recorded.message())));
}

store::RunStatus StatusNow() {
  return InterruptSignal() == 0 ? store::RunStatus::kComplete : store::RunStatus::kInterrupted;
}

// Rounds in ABBA order. Stops without an error if a signal asked to, once each side has a round.
absl::Status RunRounds(BenchSide& baseline, BenchSide& candidate, int64_t rounds_a_side, Console& console) {
  StatusLine line(console);
  for (const Side side : analysis::gate::AbbaOrder(rounds_a_side)) {
    const bool is_baseline = side == Side::kBaseline;
    BenchSide& measured = is_baseline ? baseline : candidate;
    const std::string name = fmt::format("round {} of {} of the {}", measured.rounds().size() + 1, rounds_a_side,
                                         is_baseline ? "baseline" : "candidate");
    line.Show(name);
    const absl::Status added = measured.AddRound(name);
    const bool has_something = !baseline.rounds().empty() && !candidate.rounds().empty();
    if (InterruptSignal() != 0 && has_something) return absl::OkStatus();
    SH_RETURN_IF_ERROR(added);
  }
  return absl::OkStatus();
}

// The rounds of one case. DataLoss unless every process has measured it.
absl::StatusOr<std::vector<analysis::gate::Round>> RoundsOfCase(const BenchSide& side, const std::string& id) {
  std::vector<analysis::gate::Round> rounds;
  for (const BenchOutput& output : side.rounds()) {
    const auto row =
        std::find_if(output.rows.begin(), output.rows.end(), [&](const BenchRow& one) { return one.id == id; });
    if (row == output.rows.end() || row->error) {
      return absl::DataLossError(fmt::format("confirming {}: round {} did not measure it: {}", id, rounds.size() + 1,
                                             row == output.rows.end() ? "the bench lacks it" : *row->error));
    }
    analysis::gate::Round& round = rounds.emplace_back();
    round.time_ns = row->time_ns;
    if (const auto clock = row->counters.find("sm_clock_hz"); clock != row->counters.end()) {
      round.sm_clock_hz = clock->second;
    }
  }
  return rounds;
}

}  // namespace

absl::StatusOr<store::RunRecord> MeasureRun(const MeasureRequest& request, Console& console) {
  BenchSide side(request);
  {
    StatusLine line(console);
    for (int64_t round = 0; round < request.bench.rounds && InterruptSignal() == 0; ++round) {
      const std::string name = fmt::format("round {} of {}", round + 1, request.bench.rounds);
      line.Show(name);
      const absl::Status added = side.AddRound(name);
      if (InterruptSignal() != 0 && round > 0) break;
      SH_RETURN_IF_ERROR(added);
    }
  }
  if (InterruptSignal() == 0) RecordOrWarn(side, "the recording pass", console);
  return side.Finish(StatusNow(), std::nullopt);
}

absl::StatusOr<MeasuredPair> MeasurePair(const MeasureRequest& baseline, const MeasureRequest& candidate,
                                         Console& console) {
  BenchSide first(baseline), second(candidate);
  SH_RETURN_IF_ERROR(RunRounds(first, second, candidate.bench.rounds, console));
  if (InterruptSignal() == 0) RecordOrWarn(first, "the recording pass of the baseline", console);
  if (InterruptSignal() == 0) RecordOrWarn(second, "the recording pass of the candidate", console);
  MeasuredPair pair;
  SH_ASSIGN_OR_RETURN(pair.baseline, first.Finish(StatusNow(), "ABBA"));
  SH_ASSIGN_OR_RETURN(pair.candidate, second.Finish(StatusNow(), "ABBA"));
  return pair;
}

absl::StatusOr<std::vector<CaseRounds>> MeasureInterleaved(const MeasureRequest& baseline,
                                                           const MeasureRequest& candidate,
                                                           std::span<const std::string> benchmarks,
                                                           int64_t rounds_a_side, Console& console) {
  MeasureRequest first_request = baseline, second_request = candidate;
  first_request.bench.filter = second_request.bench.filter = FilterOf(benchmarks);
  BenchSide first(first_request), second(second_request);
  SH_RETURN_IF_ERROR(RunRounds(first, second, rounds_a_side, console));
  SH_RETURN_IF_ERROR(CheckInterrupt());
  std::vector<CaseRounds> cases;
  for (const std::string& id : benchmarks) {
    CaseRounds& one = cases.emplace_back();
    one.benchmark_id = id;
    SH_ASSIGN_OR_RETURN(one.baseline, RoundsOfCase(first, id));
    SH_ASSIGN_OR_RETURN(one.candidate, RoundsOfCase(second, id));
  }
  return cases;
}

std::string FilterOf(std::span<const std::string> benchmarks) {
  std::vector<std::string> escaped;
  for (const std::string& id : benchmarks) {
    std::string& text = escaped.emplace_back();
    for (const char c : id) {
      if (std::string_view(R"(\^$.|?*+()[]{})").find(c) != std::string_view::npos) text += '\\';
      text += c;
    }
  }
  return fmt::format("^({})$", absl::StrJoin(escaped, "|"));
}

}  // namespace stallhound::cli
