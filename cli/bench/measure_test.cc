#include "cli/bench/measure.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <filesystem>
#include <regex>

#include "base/clock.h"
#include "cli/bench/bench_program.h"
#include "cli/bench/testing/fake_bench.h"
#include "cli/exit_code.h"
#include "cli/interrupt.h"
#include "cli/testing/captured_console.h"

namespace stallhound::cli {
namespace {

using store::BenchmarkOutcome;
using store::BenchmarkResult;
using store::EventKind;
using store::RunRecord;
using store::RunStatus;
using ::testing::HasSubstr;
using ::testing::Not;

class MeasureTest : public ::testing::Test {
 protected:
  MeasureRequest Request() {
    setenv("FAKE_BENCH", fake_.Plan().c_str(), 1);
    setenv("STALLHOUND_RECORDER", fake_.Recorder().c_str(), 1);
    MeasureRequest request;
    request.bench.binary = fake_.binary();
    request.bench.rounds = 3;
    request.home = folder_.File("home");
    return request;
  }
  absl::StatusOr<RunRecord> Measure() { return MeasureRun(Request(), console_.console()); }
  absl::Status Failure() { return Measure().status(); }

  InterruptScope interrupts_;
  stallhound::testing::TempDir folder_;
  FakeBench fake_;
  CapturedConsole console_;
};

const store::Point* Find(const BenchmarkResult& result, const std::string& metric) {
  for (const store::Point& point : result.points) {
    if (point.metric.name == metric) return &point;
  }
  return nullptr;
}

TEST_F(MeasureTest, RoundsAndARecordingPassAreOneRun) {
  fake_.Record();
  const absl::StatusOr<RunRecord> run = Measure();
  ASSERT_TRUE(run.ok()) << run.status();
  EXPECT_EQ(run->info.status, RunStatus::kComplete);
  EXPECT_EQ(run->info.uuid.size(), 32u);
  EXPECT_EQ(run->info.machine.size(), 32u);
  EXPECT_EQ(run->info.hardware.gpu_count, 0) << "measured on the CPU";
  EXPECT_EQ(run->info.environment.libtorch, "2.11.0");
  ASSERT_EQ(run->benchmarks.size(), 2u);
  const BenchmarkResult& a = run->benchmarks[0];
  EXPECT_EQ(a.suite, "bench");
  EXPECT_EQ(a.name, "layer/a");
  const store::Point* time = Find(a, "cpu_time_ns");
  ASSERT_NE(time, nullptr);
  EXPECT_EQ(time->median, 1'002'000);
  ASSERT_EQ(time->samples.size(), 3u);
  EXPECT_EQ(time->samples[2], (store::Sample{2, 1'003'000, std::nullopt}));
  EXPECT_EQ(Find(a, "bytes")->exact_value, 4096);
  EXPECT_EQ(Find(a, "copy_ratio"), nullptr);

  EXPECT_EQ(a.iteration_count, 14);
  EXPECT_EQ(a.counts_complete, true);
  const auto kernels = std::find_if(a.event_counts.begin(), a.event_counts.end(),
                                    [](const auto& count) { return count.kind == EventKind::kKernel; });
  ASSERT_NE(kernels, a.event_counts.end());
  EXPECT_EQ(kernels->min_count, 64);
  ASSERT_EQ(a.sync_sites.size(), 1u);
  EXPECT_EQ(a.sync_sites[0].file, "train.py");
  EXPECT_EQ(a.sync_sites[0].count, 14);
  EXPECT_EQ(run->benchmarks[1].iteration_count, std::nullopt) << "layer/b was not recorded";

  ASSERT_EQ(run->info.captures.size(), 1u);
  EXPECT_TRUE(std::filesystem::exists(folder_.File("home/" + run->info.captures[0].path)));
  EXPECT_EQ(run->info.captures[0].checksum.size(), 16u);
  EXPECT_TRUE(std::filesystem::is_empty(folder_.File("home/spool")));
  EXPECT_EQ(console_.err(), "");
}

TEST_F(MeasureTest, ProcessesGetTheFlagsOfTheContract) {
  MeasureRequest request = Request();
  request.bench.filter = "a$|b";
  request.bench.min_time_ns = 50'000'000;
  request.bench.record_iterations = 25;
  ASSERT_TRUE(MeasureRun(request, console_.console()).ok());
  const std::vector<std::string> calls = fake_.Calls();
  ASSERT_EQ(calls.size(), 4u);
  for (const std::string& call : calls)
    EXPECT_THAT(call, HasSubstr("--benchmark_filter=a(/iterations:1/manual_time)?$|b"));
  EXPECT_THAT(calls[0], Not(HasSubstr("--stallhound_check")));
  EXPECT_THAT(calls[0], HasSubstr("--stallhound_min_time=50000000ns"));
  EXPECT_THAT(calls[1], HasSubstr("--stallhound_check=false"));
  EXPECT_THAT(calls[3], HasSubstr("--stallhound_record_iterations=25"));
  EXPECT_THAT(calls[3], HasSubstr("--stallhound_check=false"));
  EXPECT_THAT(calls[3], Not(HasSubstr("--stallhound_min_time")));
}

TEST_F(MeasureTest, OnAGpuTheTimeIsTheGpusWithItsClock) {
  fake_.plan["device"] = "cuda";
  const absl::StatusOr<RunRecord> run = Measure();
  ASSERT_TRUE(run.ok()) << run.status();
  const store::Point* time = Find(run->benchmarks[0], "gpu_time_ns");
  ASSERT_NE(time, nullptr);
  EXPECT_EQ(time->samples[0].sm_clock_hz, 1'980'000'000);
  EXPECT_EQ(Find(run->benchmarks[0], "copy_ratio")->median, 1.25);
  EXPECT_EQ(run->info.hardware.gpu_name, "Fake device");
  EXPECT_EQ(run->info.hardware.gpu_count, std::nullopt);
  EXPECT_EQ(run->info.sm_clock_min_hz, 1'970'000'000);
  EXPECT_EQ(run->info.sm_clock_median_hz, 1'980'000'000);
  EXPECT_EQ(run->info.throttle_reasons, "sw-power-cap");
}

TEST_F(MeasureTest, ACountThatIsNotAsDeclaredIsAWarning) {
  fake_.plan["device"] = "cuda";
  fake_.Record();
  ASSERT_TRUE(Measure().ok());
  EXPECT_EQ(console_.err(), "stallhound: warning: layer/a declares 63 kernels an iteration, recorded were 64\n");
}

TEST_F(MeasureTest, WithoutASpoolCountsAreUnknownAndSaidToBe) {
  const absl::StatusOr<RunRecord> run = Measure();
  ASSERT_TRUE(run.ok()) << run.status();
  EXPECT_EQ(run->info.status, RunStatus::kComplete);
  EXPECT_TRUE(run->info.captures.empty());
  EXPECT_EQ(run->benchmarks[0].iteration_count, std::nullopt);
  EXPECT_TRUE(run->benchmarks[0].event_counts.empty());
  EXPECT_THAT(console_.err(), HasSubstr("counts are unknown in this run"));
  EXPECT_TRUE(std::filesystem::is_empty(folder_.File("home/spool")));
}

TEST_F(MeasureTest, ACaseThatFailsIsARowAndTheOthersGoOn) {
  fake_.plan["fail"] = {{"layer/b", "y is wrong"}};
  const absl::StatusOr<RunRecord> run = Measure();
  ASSERT_TRUE(run.ok()) << run.status();
  EXPECT_EQ(run->benchmarks[0].outcome, BenchmarkOutcome::kMeasured);
  EXPECT_EQ(run->benchmarks[1].outcome, BenchmarkOutcome::kFailed);
  EXPECT_EQ(run->benchmarks[1].message, "y is wrong");
  EXPECT_TRUE(run->benchmarks[1].points.empty());
}

TEST_F(MeasureTest, ACrashEndsTheMeasuring) {
  fake_.plan["in_call"] = 3;
  fake_.plan["crash"] = true;
  const absl::Status failure = Failure();
  EXPECT_EQ(ExitCodeOf(failure), kExitData);
  EXPECT_THAT(std::string(failure.message()), HasSubstr("round 3 of 3: it was ended by signal 11"));
  EXPECT_THAT(std::string(failure.message()), HasSubstr("about to misbehave"));
  EXPECT_EQ(fake_.Calls().size(), 3u);
}

TEST_F(MeasureTest, ACrashInTheRecordingPassCostsTheCountsAlone) {
  fake_.plan["in_call"] = 4;
  fake_.plan["crash"] = true;
  const absl::StatusOr<RunRecord> run = Measure();
  ASSERT_TRUE(run.ok()) << run.status();
  EXPECT_EQ(run->benchmarks.size(), 2u);
  EXPECT_THAT(console_.err(), HasSubstr("the recording pass: it was ended by signal 11"));
}

TEST_F(MeasureTest, ExitCodesOfTheBenchKeepTheirMeaning) {
  fake_.plan["in_call"] = 1;
  for (const auto& [code, expected] : {std::pair(2, kExitUsage), {4, kExitEnvironment}, {1, kExitData}}) {
    fake_.plan["exit"] = code;
    std::filesystem::remove(fake_.plan["calls"].get<std::string>());
    const absl::Status failure = Failure();
    EXPECT_EQ(ExitCodeOf(failure), expected) << failure;
    EXPECT_THAT(std::string(failure.message()), HasSubstr("it ended with exit code " + std::to_string(code)));
  }
}

TEST_F(MeasureTest, ACodeThatNoFailedCaseExplainsIsAnErrorInSpiteOfAResult) {
  fake_.plan["in_call"] = 2;
  for (const auto& [code, expected] :
       {std::pair(2, kExitUsage), {3, kExitData}, {4, kExitEnvironment}, {5, kExitData}, {70, kExitData}}) {
    fake_.plan["end"] = code;
    std::filesystem::remove(fake_.plan["calls"].get<std::string>());
    const absl::Status failure = Failure();
    EXPECT_EQ(ExitCodeOf(failure), expected) << failure;
    EXPECT_THAT(std::string(failure.message()),
                HasSubstr("round 2 of 3: it ended with exit code " + std::to_string(code) + ", though"));
  }
}

TEST_F(MeasureTest, ACodeOfAFailedCaseIsItsRow) {
  fake_.plan["fail"] = {{"layer/b", "out of memory"}};
  fake_.plan["in_call"] = 1;
  for (const int code : {4, 70}) {
    fake_.plan["end"] = code;
    std::filesystem::remove(fake_.plan["calls"].get<std::string>());
    const absl::StatusOr<RunRecord> run = Measure();
    ASSERT_TRUE(run.ok()) << run.status();
    EXPECT_EQ(run->benchmarks[1].outcome, BenchmarkOutcome::kFailed);
  }
  fake_.plan["end"] = 5;
  std::filesystem::remove(fake_.plan["calls"].get<std::string>());
  EXPECT_THAT(std::string(Failure().message()), HasSubstr("exit code 5")) << "no code of the bench";
}

TEST_F(MeasureTest, RoundsOfTwoProgramsAreNoRun) {
  const std::string binary = folder_.File("bench.py");
  std::filesystem::copy_file(fake_.binary(), binary);
  fake_.plan["replace"] = true;
  fake_.plan["in_call"] = 2;
  MeasureRequest request = Request();
  request.bench.binary = binary;
  const absl::Status failure = MeasureRun(request, console_.console()).status();
  EXPECT_EQ(ExitCodeOf(failure), kExitData);
  EXPECT_THAT(std::string(failure.message()), HasSubstr(binary + "', round 2 of 3: the file was replaced"));
  EXPECT_EQ(fake_.Calls().size(), 2u);
}

TEST_F(MeasureTest, AProgramThatIsReplacedWhileItIsRecordedHasNoCounts) {
  const std::string binary = folder_.File("bench.py");
  std::filesystem::copy_file(fake_.binary(), binary);
  fake_.Record();
  fake_.plan["replace"] = true;
  fake_.plan["in_call"] = 4;
  MeasureRequest request = Request();
  request.bench.binary = binary;
  const absl::StatusOr<RunRecord> run = MeasureRun(request, console_.console());
  ASSERT_TRUE(run.ok()) << run.status();
  EXPECT_TRUE(run->info.captures.empty());
  EXPECT_THAT(console_.err(), HasSubstr("the recording pass: the file was replaced"));
}

TEST_F(MeasureTest, RoundsWithOtherLibrariesAreNoRun) {
  fake_.plan["torch_version"] = "2.12.0";
  fake_.plan["in_call"] = 3;
  const absl::Status failure = Failure();
  EXPECT_EQ(ExitCodeOf(failure), kExitData);
  EXPECT_THAT(std::string(failure.message()),
              HasSubstr("round 3 of 3: its torch_version is '2.12.0', and in the first round it was '2.11.0'"));
  fake_.plan["in_call"] = 4 + 3;
  fake_.Record();
  const absl::StatusOr<RunRecord> run = Measure();
  ASSERT_TRUE(run.ok()) << run.status();
  EXPECT_TRUE(run->info.captures.empty());
  EXPECT_THAT(console_.err(), HasSubstr("the recording pass: its torch_version is '2.12.0'"));
}

TEST_F(MeasureTest, AResultCutInTheMiddleIsNotTaken) {
  fake_.plan["in_call"] = 2;
  fake_.plan["cut"] = true;
  const absl::Status failure = Failure();
  EXPECT_EQ(ExitCodeOf(failure), kExitData);
  EXPECT_THAT(std::string(failure.message()), HasSubstr(fake_.binary() + "', round 2 of 3: reading its result: "));
  EXPECT_THAT(std::string(failure.message()), HasSubstr("no whole JSON"));
}

TEST_F(MeasureTest, AProcessWithoutAResultIsNamed) {
  fake_.plan["in_call"] = 2;
  fake_.plan["exit"] = 0;
  const absl::Status failure = Failure();
  EXPECT_EQ(ExitCodeOf(failure), kExitData);
  EXPECT_THAT(std::string(failure.message()),
              HasSubstr(fake_.binary() + "', round 2 of 3: reading its result: it left"));
  EXPECT_THAT(std::string(failure.message()), Not(HasSubstr("stallhound-bench-")));
  EXPECT_THAT(std::string(failure.message()), HasSubstr("about to misbehave"));
}

TEST_F(MeasureTest, AnImpossibleTimeFailsItsCaseAlone) {
  for (const auto& [time_us, said] : std::vector<std::pair<nlohmann::json, std::string>>{
           {-10.0, "-9000 ns"}, {-1.0, "time 0 ns"}, {2e12, "e+15 ns"}}) {
    std::filesystem::remove(fake_.plan["calls"].get<std::string>());
    fake_.plan["times_us"] = {{"layer/a", time_us}, {"layer/b", 2000.0}};
    const absl::StatusOr<RunRecord> run = Measure();
    ASSERT_TRUE(run.ok()) << run.status();
    EXPECT_EQ(run->benchmarks[0].outcome, BenchmarkOutcome::kFailed);
    EXPECT_THAT(run->benchmarks[0].message.value_or(""), HasSubstr("for 'layer/a'"));
    EXPECT_TRUE(run->benchmarks[0].points.empty());
    EXPECT_EQ(run->benchmarks[1].outcome, BenchmarkOutcome::kMeasured);
  }
}

TEST_F(MeasureTest, AFilterThatMatchesNothingIsUsage) {
  MeasureRequest request = Request();
  request.bench.filter = "nothing";
  const absl::Status failure = MeasureRun(request, console_.console()).status();
  EXPECT_EQ(ExitCodeOf(failure), kExitUsage);
  EXPECT_THAT(std::string(failure.message()), HasSubstr("'nothing'"));
}

TEST_F(MeasureTest, AMissingBinaryIsSaidBeforeAnythingRuns) {
  MeasureRequest request = Request();
  request.bench.binary = folder_.File("none");
  const absl::Status failure = MeasureRun(request, console_.console()).status();
  EXPECT_EQ(ExitCodeOf(failure), kExitData);
  EXPECT_THAT(std::string(failure.message()), HasSubstr("there is no such program"));
  request.bench.binary = folder_.path();
  const absl::Status of_folder = MeasureRun(request, console_.console()).status();
  EXPECT_EQ(ExitCodeOf(of_folder), kExitData);
  EXPECT_THAT(std::string(of_folder.message()), HasSubstr("it is a folder"));
  request.bench.binary = folder_.Write("text", "x", 0755);
  EXPECT_EQ(ExitCodeOf(MeasureRun(request, console_.console()).status()), kExitData);
  request.bench.binary = folder_.Write("data", "x");
  EXPECT_EQ(ExitCodeOf(MeasureRun(request, console_.console()).status()), kExitEnvironment);
}

TEST_F(MeasureTest, AProcessThatHangsIsEnded) {
  fake_.plan["in_call"] = 2;
  fake_.plan["hang"] = true;
  MeasureRequest request = Request();
  request.bench.round_timeout_ns = 3'000'000'000;
  const absl::Status failure = MeasureRun(request, console_.console()).status();
  EXPECT_TRUE(absl::IsDeadlineExceeded(failure)) << failure;
  EXPECT_THAT(std::string(failure.message()), HasSubstr("round 2 of 3: it was not done after 3.00 s"));
}

TEST_F(MeasureTest, AProcessThatHangsIsEndedWithWhatItStarted) {
  fake_.plan["in_call"] = 1;
  fake_.plan["hang"] = fake_.plan["ignore"] = true;
  fake_.plan["start"] = folder_.File("started");
  MeasureRequest request = Request();
  request.bench.round_timeout_ns = 6'000'000'000;  // the fake may start slowly
  EXPECT_TRUE(absl::IsDeadlineExceeded(MeasureRun(request, console_.console()).status()));
  const std::vector<std::string> started = FakeBench::Started(folder_.File("started"));
  ASSERT_EQ(started.size(), 2u);
  EXPECT_EQ(FakeBench::RunningCount(started), 0);
}

TEST_F(MeasureTest, AProcessThatIgnoresCtrlCIsKilledFiveSecondsLater) {
  fake_.plan["in_call"] = 2;
  fake_.plan["interrupt"] = 1;
  fake_.plan["ignore"] = true;
  fake_.plan["start"] = folder_.File("started");
  const int64_t begin_ns = SystemClock().MonotonicNs();
  const absl::StatusOr<RunRecord> run = Measure();
  const int64_t duration_ns = SystemClock().MonotonicNs() - begin_ns;
  ASSERT_TRUE(run.ok()) << run.status();
  EXPECT_EQ(run->info.status, RunStatus::kInterrupted);
  EXPECT_GE(duration_ns, 5'000'000'000);
  EXPECT_LT(duration_ns, 30'000'000'000);
  EXPECT_EQ(FakeBench::RunningCount(FakeBench::Started(folder_.File("started"))), 0);
}

TEST_F(MeasureTest, TheSecondCtrlCKills) {
  fake_.plan["in_call"] = 1;
  fake_.plan["interrupt"] = 2;
  fake_.plan["ignore"] = true;
  fake_.plan["start"] = folder_.File("started");
  EXPECT_TRUE(absl::IsCancelled(Failure()));
  const auto began = std::filesystem::last_write_time(folder_.File("started"));
  EXPECT_LT(std::filesystem::file_time_type::clock::now() - began, std::chrono::seconds(5));
}

TEST_F(MeasureTest, ASignalThatWeWereToldToIgnoreIsIgnored) {
  const auto previous = signal(SIGHUP, SIG_IGN);
  fake_.plan["in_call"] = 1;
  fake_.plan["nohup"] = true;
  const absl::StatusOr<RunRecord> run = Measure();
  signal(SIGHUP, previous);
  ASSERT_TRUE(run.ok()) << run.status();
  EXPECT_EQ(InterruptSignal(), 0);
  EXPECT_EQ(run->info.status, RunStatus::kComplete);
}

TEST_F(MeasureTest, CtrlCBehindTheFirstRoundGivesAnInterruptedRun) {
  fake_.plan["in_call"] = 3;
  fake_.plan["interrupt"] = 1;
  const absl::StatusOr<RunRecord> run = Measure();
  ASSERT_TRUE(run.ok()) << run.status();
  EXPECT_EQ(InterruptSignal(), SIGINT);
  EXPECT_EQ(run->info.status, RunStatus::kInterrupted);
  EXPECT_EQ(Find(run->benchmarks[0], "cpu_time_ns")->samples.size(), 2u);
  EXPECT_EQ(fake_.Calls().size(), 3u) << "nothing was recorded";
}

TEST_F(MeasureTest, CtrlCInTheFirstRoundGivesNothing) {
  fake_.plan["in_call"] = 1;
  fake_.plan["interrupt"] = 1;
  EXPECT_TRUE(absl::IsCancelled(Failure()));
}

TEST_F(MeasureTest, CtrlCInTheRecordingPassKeepsTheTimes) {
  fake_.plan["in_call"] = 4;
  fake_.plan["interrupt"] = 1;
  const absl::StatusOr<RunRecord> run = Measure();
  ASSERT_TRUE(run.ok()) << run.status();
  EXPECT_EQ(run->info.status, RunStatus::kInterrupted);
  EXPECT_EQ(Find(run->benchmarks[0], "cpu_time_ns")->samples.size(), 3u);
  EXPECT_EQ(console_.err(), "");
}

TEST_F(MeasureTest, APairIsMeasuredInTurnsAndRecordedEach) {
  MeasureRequest baseline = Request();
  const std::string other = folder_.File("other_bench.py");
  std::filesystem::copy_file(fake_.binary(), other);
  MeasureRequest candidate = Request();
  candidate.bench.binary = other;
  candidate.bench.rounds = 2;
  const absl::StatusOr<MeasuredPair> pair = MeasurePair(baseline, candidate, console_.console());
  ASSERT_TRUE(pair.ok()) << pair.status();
  // The fake's times rise by 1 us a process: A B B A.
  const auto times = [](const RunRecord& run) {
    std::vector<int64_t> values;
    for (const store::Sample& sample : Find(run.benchmarks[0], "cpu_time_ns")->samples) values.push_back(sample.value);
    return values;
  };
  EXPECT_EQ(times(pair->baseline), (std::vector<int64_t>{1'001'000, 1'004'000}));
  EXPECT_EQ(times(pair->candidate), (std::vector<int64_t>{1'002'000, 1'003'000}));
  EXPECT_EQ(pair->candidate.info.round_plan, "ABBA");
  EXPECT_NE(pair->baseline.info.uuid, pair->candidate.info.uuid);
  EXPECT_EQ(fake_.Calls().size(), 6u);
}

TEST_F(MeasureTest, ConfirmationMeasuresTheNamedCasesAlone) {
  const std::vector<std::string> ids = {"layer/b"};
  const auto cases = MeasureInterleaved(Request(), Request(), ids, 2, console_.console());
  ASSERT_TRUE(cases.ok()) << cases.status();
  ASSERT_EQ(cases->size(), 1u);
  EXPECT_EQ(cases->front().benchmark_id, "layer/b");
  EXPECT_EQ(cases->front().baseline[1].time_ns, 2'004'000);
  EXPECT_EQ(cases->front().candidate[0].time_ns, 2'002'000);
  EXPECT_THAT(fake_.Calls().front(), HasSubstr("^(layer/b)"));

  fake_.plan["fail"] = {{"layer/b", "y is wrong"}};
  const absl::Status failure = MeasureInterleaved(Request(), Request(), ids, 2, console_.console()).status();
  EXPECT_TRUE(absl::IsDataLoss(failure));
  EXPECT_THAT(std::string(failure.message()), HasSubstr("y is wrong"));
}

TEST(FilterOfTest, MatchesTheseIdsAlone) {
  const std::vector<std::string> ids = {"layer/a.b", "sort/n(2)"};
  const std::regex filter(FilterOf(ids), std::regex::extended);
  EXPECT_TRUE(std::regex_search("layer/a.b", filter));
  EXPECT_TRUE(std::regex_search("sort/n(2)", filter));
  EXPECT_FALSE(std::regex_search("layer/axb", filter));
  EXPECT_FALSE(std::regex_search("layer/a.b/more", filter));
  EXPECT_FALSE(std::regex_search("my/layer/a.b", filter));
}

TEST(FilterOfNamesTest, TheEndOfAnIdIsFoundInTheNameToo) {
  EXPECT_EQ(FilterOfNames("^a.*b"), "^a.*b");
  EXPECT_EQ(FilterOfNames(R"(a\$[$]\\$)"), R"(a\$[$]\\(/iterations:1/manual_time)?$)");
  const std::regex filter(FilterOfNames("forward$|^b$"), std::regex::extended);
  EXPECT_TRUE(std::regex_search("a/forward/iterations:1/manual_time", filter));
  EXPECT_TRUE(std::regex_search("a/forward", filter));
  EXPECT_TRUE(std::regex_search("b/iterations:1/manual_time", filter));
  EXPECT_FALSE(std::regex_search("a/forward/more/iterations:1/manual_time", filter));
}

}  // namespace
}  // namespace stallhound::cli
