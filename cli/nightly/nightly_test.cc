#include "cli/nightly/nightly.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "base/file.h"
#include "base/testing/temp_dir.h"
#include "cli/exit_code.h"
#include "cli/gate/gate_runs.h"
#include "cli/home.h"
#include "cli/nightly/kept_builds.h"
#include "cli/testing/captured_console.h"
#include "store/history.h"

namespace stallhound::cli {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kCase[] = "layer/optimized/fp32/8x8/forward";
constexpr int64_t kRounds = 8;

// Rounds around `time_ns`, no two alike.
int64_t RoundTime(int64_t time_ns, int64_t round) { return time_ns + round; }

store::RunRecord MakeRun(int64_t number, int64_t time_ns) {
  store::RunRecord run;
  run.info.uuid = fmt::format("{:032x}", number);
  run.info.machine = "m";
  run.info.producer = "test";
  run.info.hardware.gpu_count = 0;
  run.info.captures.push_back({"c", "c.stallhound", "0"});
  run.info.started_at_ns = number;
  store::BenchmarkResult& result = run.benchmarks.emplace_back();
  result.suite = "s";
  result.name = kCase;
  store::Point& point = result.points.emplace_back();
  point.metric = {"cpu_time_ns", "ns", store::MetricKind::kTime, store::Better::kLower, false};
  point.sample_count = kRounds;
  point.median = static_cast<double>(time_ns);
  for (int64_t round = 0; round < kRounds; ++round) {
    point.samples.push_back({round, RoundTime(time_ns, round), std::nullopt});
  }
  return run;
}

class NightlyTest : public ::testing::Test {
 protected:
  NightlyTest() {
    request_.measure.home = folder_.File("home");
    request_.measure.bench.binary = folder_.Write("bench", "first", 0755);
    request_.measure.bench.suite = "s";
    measure_.run = [this](const MeasureRequest& request, Console&) -> absl::StatusOr<store::RunRecord> {
      measured_ = *ReadFile(request.bench.binary);
      return next_;
    };
    measure_.interleaved = [this](const MeasureRequest& baseline, const MeasureRequest& candidate,
                                  std::span<const std::string> benchmarks, int64_t rounds_a_side,
                                  Console&) -> absl::StatusOr<std::vector<analysis::gate::CaseRounds>> {
      interleaved_ = *ReadFile(baseline.bench.binary) + " " + *ReadFile(candidate.bench.binary);
      if (!interleaved_status_.ok()) return interleaved_status_;
      std::vector<analysis::gate::CaseRounds> cases;
      for (const std::string& id : benchmarks) {
        analysis::gate::CaseRounds& one = cases.emplace_back();
        one.benchmark_id = id;
        for (int64_t round = 0; round < rounds_a_side; ++round) {
          one.baseline.push_back({static_cast<double>(RoundTime(1'000'000, round)), std::nullopt});
          one.candidate.push_back({static_cast<double>(RoundTime(1'100'000, round)), std::nullopt});
        }
      }
      return cases;
    };
  }

  int Run(int64_t number, int64_t time_ns) {
    next_ = MakeRun(number, time_ns);
    return RunNext();
  }

  int RunNext() {
    CapturedConsole captured;
    const absl::StatusOr<int> code = RunNightly(request_, measure_, captured.console());
    EXPECT_TRUE(code.ok()) << code.status();
    out_ = captured.out();
    err_ = captured.err();
    const size_t path = out_.find("report: ");
    if (path != std::string::npos) {
      const std::filesystem::path html = out_.substr(path + 8, out_.find('\n', path) - path - 8);
      EXPECT_THAT(ReadFile(html).value(), HasSubstr("</html>"));
      run_json_ = nlohmann::json::parse(ReadFile(html.parent_path() / "report.json").value());
      const absl::StatusOr<std::string> gate = ReadFile(html.parent_path() / "gate.json");
      gate_json_ = gate.ok() ? nlohmann::json::parse(*gate) : nlohmann::json();
      report_folder_ = html.parent_path();
      std::filesystem::remove_all(report_folder_);
    }
    return code.value_or(-1);
  }

  std::string BaselineUuid() {
    auto history = store::OpenHistory(HistoryPath(request_.measure.home), {});
    const absl::StatusOr<store::Baseline> baseline = (*history)->FindBaseline("main");
    return baseline.ok() ? baseline->run_uuid : "";
  }

  stallhound::testing::TempDir folder_;
  NightlyRequest request_;
  NightlyMeasure measure_;
  absl::Status interleaved_status_;
  store::RunRecord next_;
  std::string measured_;     // what the measured program holds
  std::string interleaved_;  // of both, if they were measured in turns
  std::string out_;
  std::string err_;
  std::string report_folder_;
  nlohmann::json run_json_;
  nlohmann::json gate_json_;  // null: there is none
};

TEST_F(NightlyTest, TheFirstRunBecomesTheBaseline) {
  EXPECT_EQ(Run(1, 1'000'000), kExitFine);
  EXPECT_EQ(measured_, "first");
  EXPECT_THAT(out_, EndsWith("report.html\nverdict: none: there was no baseline 'main'; this run is now 'main'\n"));
  EXPECT_EQ(BaselineUuid(), next_.info.uuid);
  EXPECT_EQ(run_json_["run"]["uuid"], next_.info.uuid);
  EXPECT_TRUE(run_json_["gate"].is_null());
  EXPECT_TRUE(gate_json_.is_null());
  EXPECT_EQ(Run(2, 1'000'000), kExitFine);
  EXPECT_THAT(out_, HasSubstr("verdict: pass: 1 pass. Slow-downs are seen from "));
  EXPECT_THAT(out_, EndsWith(" in the noisiest.\n"));
  EXPECT_NE(BaselineUuid(), next_.info.uuid);
}

TEST_F(NightlyTest, ARunWithAFailedCaseDoesNotBecomeTheBaseline) {
  next_ = MakeRun(1, 1'000'000);
  next_.benchmarks[0].outcome = store::BenchmarkOutcome::kFailed;
  next_.benchmarks[0].message = "y is wrong: " + std::string(5000, '7');
  next_.benchmarks[0].points.clear();
  EXPECT_EQ(RunNext(), kExitData);
  EXPECT_THAT(out_, HasSubstr("this run cannot become it: 1 of 1 cases failed"));
  EXPECT_THAT(err_, HasSubstr("failed: y is wrong: 777"));
  EXPECT_LT(err_.size(), 500u);
  EXPECT_EQ(run_json_["benchmarks"][0]["message"], *next_.benchmarks[0].message);
  EXPECT_EQ(BaselineUuid(), "");
}

TEST_F(NightlyTest, ARunOnAGpuWithoutCountsDoesNotBecomeTheBaseline) {
  next_ = MakeRun(1, 1'000'000);
  next_.info.hardware.gpu_name = "NVIDIA H200";
  next_.info.hardware.gpu_count = 1;
  next_.info.captures.clear();
  EXPECT_EQ(RunNext(), kExitData);
  EXPECT_THAT(out_, HasSubstr("this run cannot become it: its recording pass failed, so its counts are unknown"));
  EXPECT_EQ(BaselineUuid(), "");
  next_.info.captures.push_back({"c", "c.stallhound", "0"});
  next_.info.uuid = std::string(32, '2');
  EXPECT_EQ(RunNext(), kExitFine);
}

TEST_F(NightlyTest, OtherTimesOfTheSameProgramAreTheMachines) {
  Run(1, 1'000'000);
  request_.is_strict = true;
  EXPECT_EQ(Run(2, 1'100'000), kExitFine);
  EXPECT_EQ(interleaved_, "");
  EXPECT_THAT(out_, HasSubstr("verdict: pass"));
  EXPECT_THAT(gate_json_.dump(), HasSubstr("same-program"));
}

TEST_F(NightlyTest, CountsThatNobodyRecordedAreInconclusive) {
  Run(1, 1'000'000);
  request_.is_strict = true;
  EXPECT_EQ(Run(2, 1'000'000), kExitFine) << "nothing to count on a CPU";
  EXPECT_THAT(out_, HasSubstr("verdict: pass: 1 pass"));
  EXPECT_THAT(gate_json_["notes"].dump(), HasSubstr("Nothing to count, as both sides ran on the CPU: layer/"));
  next_ = MakeRun(3, 1'000'000);
  next_.info.captures.clear();
  EXPECT_EQ(RunNext(), kExitInconclusive) << "its recording pass failed";
  EXPECT_THAT(out_, HasSubstr("verdict: inconclusive: 1 inconclusive, 1 pass; counts not recorded in 1 case. "));
  request_.is_strict = false;
  next_.info.uuid = std::string(32, '4');
  EXPECT_EQ(RunNext(), kExitFine);
  EXPECT_THAT(out_, HasSubstr("counts not recorded in 1 case"));
}

TEST_F(NightlyTest, ABudgetThatMatchesNothingIsNamed) {
  request_.gate.budgets = {{"layer/*", 0.2}, {"nomatch/*", 0.2}};
  Run(1, 1'000'000);
  EXPECT_EQ(Run(2, 1'000'000), kExitFine);
  EXPECT_THAT(err_, HasSubstr("the budget of 'nomatch/*' in stallhound.toml ([[gate.budget]]) matches no benchmark"));
  EXPECT_THAT(err_, Not(HasSubstr("layer/*")));
  auto history = store::OpenHistory(HistoryPath(request_.measure.home), {});
  CapturedConsole captured;
  const GateRequest gate = {
      .run_uuid = next_.info.uuid, .baseline_uuid = BaselineUuid(), .config = request_.gate, .is_same_program = true};
  EXPECT_EQ(*GateRuns(gate, **history, captured.console()), kExitFine);
  EXPECT_THAT(captured.err(), HasSubstr("the budget of 'nomatch/*'"));
}

TEST_F(NightlyTest, AnotherProgramIsConfirmedBesideTheKeptOne) {
  Run(1, 1'000'000);
  folder_.Write("bench", "second", 0755);
  EXPECT_EQ(Run(2, 1'100'000), kExitRegression);
  EXPECT_EQ(interleaved_, "first second");
  EXPECT_THAT(out_, HasSubstr("verdict: regressed: 1 regressed"));
  EXPECT_THAT(out_, HasSubstr("\nRegressed\ncase")) << "as gate prints it";
  EXPECT_THAT(out_, HasSubstr(std::string("\n") + kCase + "  +10.0%"));
  EXPECT_EQ(gate_json_["exit_code"], kExitRegression);
  EXPECT_EQ(run_json_["gate"]["answer"], "regressed");
  auto history = store::OpenHistory(HistoryPath(request_.measure.home), {});
  CapturedConsole captured;
  EXPECT_EQ(*GateRuns({.run_uuid = next_.info.uuid, .baseline_uuid = BaselineUuid()}, **history, captured.console()),
            kExitRegression)
      << "gate behind nightly";
  EXPECT_EQ((*history)->ReadJudgements(next_.info.uuid)->size(), 1u);
}

TEST_F(NightlyTest, WithoutTheBaselinesProgramAChangeStaysSuspect) {
  Run(1, 1'000'000);
  folder_.Write("bench", "second", 0755);
  ASSERT_TRUE(RemoveBuild(ListBuilds(request_.measure.home)[0]).ok());
  EXPECT_EQ(Run(2, 1'100'000), kExitFine);
  EXPECT_EQ(interleaved_, "");
  EXPECT_THAT(out_, HasSubstr("verdict: suspect: 1 suspect"));
  EXPECT_THAT(gate_json_.dump(), HasSubstr("the baseline's program is not kept"));
  EXPECT_THAT(out_, HasSubstr("Changes of time are not confirmed: the baseline's program is not kept"));
  EXPECT_THAT(out_, HasSubstr("`stallhound baseline set RUN --name main`), or compare the two programs with "
                              "`stallhound ab`"));
}

TEST_F(NightlyTest, AConfirmationThatFailsLeavesTheRestOfTheVerdicts) {
  Run(1, 1'000'000);
  folder_.Write("bench", "second", 0755);
  interleaved_status_ = absl::DataLossError("round 3 crashed");
  EXPECT_EQ(Run(2, 1'100'000), kExitFine);
  EXPECT_THAT(out_, HasSubstr("verdict: suspect: 1 suspect"));
  EXPECT_THAT(gate_json_.dump(), HasSubstr("Changes of time were not confirmed: round 3 crashed"));
}

TEST_F(NightlyTest, AKeptProgramThatWasReplacedIsNotMeasured) {
  Run(1, 1'000'000);
  const std::string kept = ListBuilds(request_.measure.home)[0].binary;
  ASSERT_TRUE(WriteFileAtomically(kept, "replaced").ok());
  measured_ = "";
  CapturedConsole captured;
  const absl::Status status = RunNightly(request_, measure_, captured.console()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(status.message()), HasSubstr(kept + "': it is not the one that was kept"));
  EXPECT_EQ(measured_, "");
}

TEST_F(NightlyTest, AKeptProgramThatIsReplacedMeanwhileConfirmsNothing) {
  Run(1, 1'000'000);
  folder_.Write("bench", "second", 0755);
  measure_.run = [this](const MeasureRequest& request, Console&) -> absl::StatusOr<store::RunRecord> {
    EXPECT_TRUE(WriteFileAtomically(request.bench.binary, "replaced").ok());
    return next_;
  };
  EXPECT_EQ(Run(2, 1'100'000), kExitFine);
  EXPECT_EQ(interleaved_, "");
  EXPECT_THAT(out_, HasSubstr("Changes of time were not confirmed: reading the kept program"));
}

TEST_F(NightlyTest, RunsOfOneSecondHaveReportsOfTheirOwn) {
  std::set<std::string> folders;
  for (int64_t number = 1; number <= 3; ++number) {
    next_ = MakeRun(number, 1'000'000);
    next_.info.uuid = fmt::format("{:032d}", 0).replace(0, 1, fmt::format("{}", number));
    EXPECT_EQ(RunNext(), kExitFine);
    folders.insert(report_folder_);
    EXPECT_THAT(report_folder_, EndsWith(fmt::format("Z-{}0000000", number)));
  }
  EXPECT_EQ(folders.size(), 3u);
}

TEST_F(NightlyTest, ABaselineOfAnotherSuiteIsToldBeforeMeasuring) {
  Run(1, 1'000'000);
  request_.measure.bench.suite = "models";
  measure_.run = [](const MeasureRequest&, Console&) -> absl::StatusOr<store::RunRecord> {
    ADD_FAILURE() << "measured";
    return absl::InternalError("");
  };
  CapturedConsole captured;
  const absl::Status status = RunNightly(request_, measure_, captured.console()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("the suite 'models' against the baseline 'main'"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("of the suite 's'; give this suite a baseline of its own"));
}

TEST_F(NightlyTest, AProgramThatIsNotThereIsNamedWithWhatToDo) {
  request_.measure.bench.binary = folder_.File("none");
  CapturedConsole captured;
  const absl::Status status = RunNightly(request_, measure_, captured.console()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr(folder_.File("none") + "': there is no such program (hint: build it, as by"));
  EXPECT_FALSE(std::filesystem::exists(folder_.File("home")));
}

TEST_F(NightlyTest, ErrorsOfMeasuringAreItsOwn) {
  measure_.run = [](const MeasureRequest&, Console&) -> absl::StatusOr<store::RunRecord> {
    return absl::DeadlineExceededError("too slow");
  };
  CapturedConsole captured;
  EXPECT_EQ(RunNightly(request_, measure_, captured.console()).status(), absl::DeadlineExceededError("too slow"));
  EXPECT_EQ(captured.out(), "");
  EXPECT_TRUE(std::filesystem::is_empty(request_.measure.home + "/builds")) << "no run was measured with it";
}

TEST_F(NightlyTest, AFailedRunLeavesTheProgramOfEarlierOnesAndOfThoseBesideIt) {
  Run(1, 1'000'000);
  measure_.run = [](const MeasureRequest&, Console&) -> absl::StatusOr<store::RunRecord> {
    return absl::DeadlineExceededError("too slow");
  };
  CapturedConsole captured;
  EXPECT_FALSE(RunNightly(request_, measure_, captured.console()).ok());
  EXPECT_EQ(ListBuilds(request_.measure.home).size(), 1u);
  const absl::StatusOr<KeptBuild> beside = KeepBuild(request_.measure.home, folder_.Write("bench", "second", 0755));
  EXPECT_FALSE(RunNightly(request_, measure_, captured.console()).ok());
  EXPECT_TRUE(std::filesystem::exists(beside->binary));
}

}  // namespace
}  // namespace stallhound::cli
