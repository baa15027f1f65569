#include "cli/nightly/nightly.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/str_join.h>
#include <absl/time/time.h>
#include <fmt/format.h>

#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "base/clock.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "cli/bench/bench_program.h"
#include "cli/bench/keep_run.h"
#include "cli/exit_code.h"
#include "cli/gate/gate_runs.h"
#include "cli/gate/run_report_values.h"
#include "cli/home.h"
#include "cli/interrupt.h"
#include "cli/nightly/kept_builds.h"
#include "reports/gate/gate_document.h"
#include "reports/gate/gate_output.h"
#include "reports/run/run_output.h"
#include "store/history.h"

namespace stallhound::cli {
namespace {

using reports::GateReport;

constexpr size_t kShownUuidLength = 8;

struct Verdict {
  std::string text;
  int exit_code = kExitFine;
};

std::set<std::string> SuitesOf(const store::RunRecord& run) {
  std::set<std::string> suites;
  for (const store::BenchmarkResult& result : run.benchmarks) suites.insert(result.suite);
  return suites;
}

class Nightly {
 public:
  Nightly(const NightlyRequest& request, const NightlyMeasure& measure, Console& console)
      : request_(request), measure_(measure), home_(request.measure.home), console_(console) {}

  absl::StatusOr<int> Run() {
    SH_RETURN_IF_ERROR(
        CheckBinary(request_.measure.bench.binary,
                    "build it, as by `bazel build //bench`, or name it: bench.binary in stallhound.toml"));
    SH_RETURN_IF_ERROR(CheckHistory(home_, console_));
    SH_RETURN_IF_ERROR(CheckSuite());
    SH_ASSIGN_OR_RETURN(build_, KeepBuild(home_, request_.measure.bench.binary));
    const absl::StatusOr<store::RunRecord> kept = MeasureAndKeep();
    if (!kept.ok()) {
      const absl::Status dropped = DropIfUnused(build_);
      if (!dropped.ok()) console_.Warn(std::string(dropped.message()));
      return kept.status();
    }
    const store::RunRecord& measured = *kept;
    PrintRun(measured, home_, console_);
    SH_RETURN_IF_ERROR(CheckInterrupt());
    SH_ASSIGN_OR_RETURN(history_, store::OpenHistory(HistoryPath(home_), {}));
    SH_ASSIGN_OR_RETURN(const store::RunRecord run, history_->ReadRun(measured.info.uuid));
    SH_ASSIGN_OR_RETURN(const Verdict verdict, Decide(run));
    SH_ASSIGN_OR_RETURN(const std::string path, WriteReports(run));
    console_.Out(fmt::format("report: {}\nverdict: {}\n", path, verdict.text));
    return verdict.exit_code;
  }

 private:
  MeasureRequest MeasureOf(const KeptBuild& build) const {
    MeasureRequest measure = request_.measure;
    measure.bench.binary = build.binary;
    return measure;
  }

  absl::StatusOr<store::RunRecord> MeasureAndKeep() {
    SH_ASSIGN_OR_RETURN(store::RunRecord measured, measure_.run(MeasureOf(build_), console_));
    SH_RETURN_IF_ERROR(KeepRun(home_, measured));
    SH_RETURN_IF_ERROR(AddRun(build_, measured.info.uuid));
    return measured;
  }

  // Better now than after an hour of measuring.
  absl::Status CheckSuite() const {
    SH_ASSIGN_OR_RETURN(const std::unique_ptr<store::History> history, store::OpenHistory(HistoryPath(home_), {}));
    const absl::StatusOr<store::Baseline> baseline = history->FindBaseline(request_.gate.baseline);
    if (absl::IsNotFound(baseline.status())) return absl::OkStatus();
    SH_RETURN_IF_ERROR(baseline.status());
    SH_ASSIGN_OR_RETURN(const store::RunRecord run, history->ReadRun(baseline->run_uuid));
    const std::set<std::string> suites = SuitesOf(run);
    const std::string& suite = request_.measure.bench.suite;
    if (suites.empty() || suites.contains(suite)) return absl::OkStatus();
    return absl::FailedPreconditionError(
        fmt::format("judging the suite '{}' against the baseline '{}': that is the run {} of the suite '{}'; give this "
                    "suite a baseline of its own with gate.baseline in stallhound.toml (its first run becomes it)",
                    suite, request_.gate.baseline, baseline->run_uuid, absl::StrJoin(suites, "', '")));
  }

  absl::StatusOr<Verdict> Decide(const store::RunRecord& run) {
    const absl::StatusOr<store::Baseline> baseline = history_->FindBaseline(request_.gate.baseline);
    if (absl::IsNotFound(baseline.status())) return BecomeBaseline(run);
    SH_RETURN_IF_ERROR(baseline.status());
    WarnOfUnmatchedBudgets(request_.gate, run, console_);
    return Judge(baseline->run_uuid, run.info.uuid);
  }

  absl::StatusOr<Verdict> BecomeBaseline(const store::RunRecord& run) {
    const std::string& name = request_.gate.baseline;
    if (const int64_t failed_count = FailedCaseCount(run); failed_count > 0) {
      return Verdict{
          fmt::format("none: there is no baseline '{}', and this run cannot become it: {} of {} cases failed", name,
                      failed_count, run.benchmarks.size()),
          kExitData};
    }
    if (run.info.hardware.gpu_name && run.info.captures.empty()) {
      return Verdict{
          fmt::format("none: there is no baseline '{}', and this run cannot become it: its recording pass failed, so "
                      "its counts are unknown",
                      name),
          kExitData};
    }
    SH_RETURN_IF_ERROR(history_->SetBaseline(
        {name, run.info.uuid, SystemClock().RealtimeNs(), "the first run of stallhound nightly"}));
    return Verdict{fmt::format("none: there was no baseline '{0}'; this run is now '{0}'", name), kExitFine};
  }

  absl::StatusOr<Verdict> Judge(const std::string& baseline_uuid, const std::string& run_uuid) {
    GateRequest gate;
    gate.run_uuid = run_uuid;
    gate.baseline_uuid = baseline_uuid;
    gate.config = request_.gate;
    gate.is_strict = request_.is_strict;
    std::vector<std::string> notes;
    absl::Status confirmed;
    const std::optional<KeptBuild> kept = BuildOfBaseline(baseline_uuid, notes);
    gate.is_same_program = kept && kept->folder == build_.folder;
    if (kept && !gate.is_same_program) {
      gate.confirm = [&](std::span<const std::string> benchmarks, int64_t rounds_a_side) {
        auto rounds = MeasureBeside(*kept, benchmarks, rounds_a_side);
        confirmed = rounds.status();
        return rounds;
      };
    }
    absl::StatusOr<GateReport> report = JudgeStoredRuns(gate, *history_);
    SH_RETURN_IF_ERROR(CheckInterrupt());
    if (!confirmed.ok()) {
      // What was measured before is still worth its verdicts.
      notes.push_back(fmt::format("Changes of time were not confirmed: {}", std::string(confirmed.message())));
      gate.confirm = nullptr;
      report = JudgeStoredRuns(gate, *history_);
    }
    SH_RETURN_IF_ERROR(report.status());
    report->notes.insert(report->notes.begin(), notes.begin(), notes.end());
    if (AnswerCount(*report, analysis::gate::Answer::kRegressed) > 0) {
      console_.Out(reports::GateTerminal(*report, {console_.out_has_color(), console_.width()}));
    } else if (AnswerCount(*report, analysis::gate::Answer::kSuspect) > 0) {
      for (const std::string& note : notes) console_.Out(note + "\n");
    }
    gate_ = *std::move(report);
    const std::string seen = reports::SeenFromSentence(*gate_);
    return Verdict{fmt::format("{}: {}{}{}", AnswerName(OverallAnswer(*gate_)), AnswersSentence(*gate_),
                               seen.empty() ? "" : ". ", seen),
                   *gate_->exit_code};
  }

  absl::StatusOr<std::vector<analysis::gate::CaseRounds>> MeasureBeside(const KeptBuild& baseline,
                                                                        std::span<const std::string> benchmarks,
                                                                        int64_t rounds_a_side) {
    SH_RETURN_IF_ERROR(CheckProgram(build_));
    return measure_.interleaved(MeasureOf(baseline), MeasureOf(build_), benchmarks, rounds_a_side, console_);
  }

  // nullopt: there is nothing to confirm with; a note says why.
  std::optional<KeptBuild> BuildOfBaseline(const std::string& baseline_uuid, std::vector<std::string>& notes) const {
    absl::StatusOr<std::optional<KeptBuild>> kept = FindBuildOfRun(home_, baseline_uuid);
    std::string why;
    if (!kept.ok()) {
      why = std::string(kept.status().message());
    } else if (!kept->has_value()) {
      why = fmt::format(
          "the baseline's program is not kept in {}/builds, where only `stallhound nightly` puts what it measures; run "
          "it once with the baseline's program and make that run the baseline (`stallhound baseline set RUN --name "
          "{}`), or compare the two programs with `stallhound ab`",
          home_, request_.gate.baseline);
    } else {
      return *std::move(kept);
    }
    notes.push_back(fmt::format("Changes of time are not confirmed: {}", why));
    return std::nullopt;
  }

  absl::StatusOr<std::string> WriteReports(const store::RunRecord& run) {
    reports::RunReport report = RunReportOf(run);
    report.gate = gate_;
    const absl::Time time = absl::FromUnixNanos(SystemClock().RealtimeNs());
    const std::string folder =
        absl::StrCat(home_, "/nightly/", absl::FormatTime("%Y-%m-%dT%H%M%SZ", time, absl::UTCTimeZone()), "-",
                     run.info.uuid.substr(0, kShownUuidLength));
    SH_RETURN_IF_ERROR(MakeFolders(folder));
    SH_RETURN_IF_ERROR(WriteFileAtomically(folder + "/report.json", reports::RunJson(report)));
    if (gate_) SH_RETURN_IF_ERROR(WriteFileAtomically(folder + "/gate.json", reports::GateJson(*gate_)));
    SH_RETURN_IF_ERROR(WriteFileAtomically(folder + "/report.html", reports::RunHtml(report)));
    return folder + "/report.html";
  }

  const NightlyRequest& request_;
  const NightlyMeasure& measure_;
  const std::string& home_;
  Console& console_;
  KeptBuild build_;
  std::unique_ptr<store::History> history_;
  std::optional<GateReport> gate_;  // nullopt: there was no baseline
};

}  // namespace

absl::StatusOr<int> RunNightly(const NightlyRequest& request, const NightlyMeasure& measure, Console& console) {
  return Nightly(request, measure, console).Run();
}

}  // namespace stallhound::cli
