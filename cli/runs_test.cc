#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/sqlite/sqlite.h"
#include "base/testing/subprocess.h"
#include "base/testing/temp_dir.h"
#include "cli/nightly/kept_builds.h"
#include "cli/testing/run_stallhound.h"
#include "store/history.h"

namespace stallhound::cli {
namespace {

using stallhound::testing::RunSubprocess;
using stallhound::testing::SubprocessResult;
using store::EventKind;
using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr char kFirst[] = "aaaa0000-0000-4000-8000-000000000001";
constexpr char kSecond[] = "bbbb0000-0000-4000-8000-000000000002";
constexpr char kThird[] = "cccc0000-0000-4000-8000-000000000003";
constexpr int64_t kStartNs = 1'767'225'600'000'000'000;

class RunsTest : public ::testing::Test {
 protected:
  SubprocessResult Run(const std::vector<std::string>& arguments) {
    stallhound::testing::SubprocessOptions options = StallhoundOptions(home_, arguments);
    return RunSubprocess(options);
  }

  static store::RunRecord Record(const std::string& uuid, int64_t number) {
    store::RunRecord run;
    run.info.uuid = uuid;
    run.info.machine = "bench-1";
    run.info.branch = "main";
    run.info.revision = store::Revision{"stallhound", "0123456789abcdef0123456789abcdef01234567"};
    run.info.started_at_ns = kStartNs + number;
    run.info.hardware.gpu_name = "NVIDIA H200";
    run.info.environment.driver = "580.1";
    run.info.producer = "0.1.0";
    for (const char* variant : {"reference", "optimized"}) {
      store::BenchmarkResult& result = run.benchmarks.emplace_back();
      result.suite = "bench";
      result.name = std::string("layer_norm/") + variant + "/fp32/8x8/forward";
      result.iteration_count = 20;
      result.counts_complete = true;
      result.kernels = {{"layer_norm_forward<float>", "8x1x1", "128x1x1", 32, 0, 1, 1}};
      result.event_counts = {{EventKind::kKernel, std::nullopt, std::nullopt, "cudaLaunchKernel", 1, 1},
                             {EventKind::kWait, std::nullopt, std::nullopt, std::nullopt, 0, 0},
                             {EventKind::kHostToDevice, "pageable", "device", "cudaMemcpyAsync", 1, 1, 4096, 4096}};
      store::Point& point = result.points.emplace_back();
      point.metric = {"gpu_time_ns", "ns"};
      const int64_t time_ns = std::string(variant) == "reference" ? 300'000 : 100'000;
      for (int64_t round = 0; round < 8; ++round) point.samples.push_back({round, time_ns + round * 10});
      point.sample_count = 8;
      point.median = static_cast<double>(time_ns + 35);
    }
    return run;
  }

  static void AddWait(store::RunRecord& run) {
    store::BenchmarkResult& result = run.benchmarks.back();
    result.event_counts[1] = {EventKind::kWait, std::nullopt, std::nullopt, "cudaStreamSynchronize", 1, 1};
    result.sync_sites = {{EventKind::kWait, "layer_norm_optimized.cc", 41, "Forward", std::nullopt, "aten::item",
                          "cudaStreamSynchronize", 20, 400'000, 300'000, 250'000}};
  }

  void Append(const store::RunRecord& run) {
    const auto history = store::OpenHistory(home_ + "/history.db", {});
    ASSERT_TRUE(history.ok()) << history.status();
    const auto appended = (*history)->AppendRun(run);
    ASSERT_TRUE(appended.ok()) << appended.status();
  }

  void AppendWithWait(const std::string& uuid, int64_t number) {
    store::RunRecord run = Record(uuid, number);
    AddWait(run);
    Append(run);
  }

  void SetBaseline(const std::string& uuid) {
    const auto history = store::OpenHistory(home_ + "/history.db", {});
    ASSERT_TRUE(history.ok()) << history.status();
    const absl::Status set = (*history)->SetBaseline({"main", uuid, kStartNs});
    ASSERT_TRUE(set.ok()) << set;
  }

  stallhound::testing::TempDir folder_;
  std::string home_ = folder_.File("home");
};

TEST_F(RunsTest, TheSameCodePassesTheGate) {
  Append(Record(kFirst, 1));
  Append(Record(kSecond, 2));
  SetBaseline(kFirst);
  const SubprocessResult result = Run({"gate", "--strict"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, StartsWith("Gate: pass\nVerdicts: 8 pass. Cases: 2.\n"));
  EXPECT_THAT(result.out, HasSubstr("Slow-downs are seen from 0.5% in half of 2 timed cases"));
  EXPECT_THAT(result.out, EndsWith("noisiest.\n"));
}

TEST_F(RunsTest, AGateThatNoiseBlindsFailsIfStrict) {
  const auto noisy = [](const char* uuid, int64_t number) {
    store::RunRecord run = Record(uuid, number);
    for (store::Sample& sample : run.benchmarks.back().points[0].samples) sample.value += sample.round % 4 * 20'000;
    return run;
  };
  Append(noisy(kFirst, 1));
  Append(noisy(kSecond, 2));
  SetBaseline(kFirst);
  const SubprocessResult lenient = Run({"gate"});
  EXPECT_EQ(lenient.exit_code, 0) << lenient.err;
  EXPECT_THAT(lenient.out, StartsWith("Gate: inconclusive\nVerdicts: 1 inconclusive, 7 pass. "));
  EXPECT_THAT(lenient.out, HasSubstr("too-noisy"));
  EXPECT_EQ(Run({"gate", "--strict"}).exit_code, 5);
}

TEST_F(RunsTest, AGateWithoutCountsOrOfAnInterruptedRunIsNoPass) {
  const auto uncounted = [](const char* uuid, int64_t number) {
    store::RunRecord run = Record(uuid, number);
    store::BenchmarkResult& result = run.benchmarks.back();
    result.iteration_count = std::nullopt;
    result.counts_complete = std::nullopt;
    result.kernels.clear();
    result.event_counts.clear();
    return run;
  };
  Append(uncounted(kFirst, 1));
  Append(uncounted(kSecond, 2));
  SetBaseline(kFirst);
  const SubprocessResult lenient = Run({"gate"});
  EXPECT_EQ(lenient.exit_code, 0) << lenient.err;
  EXPECT_THAT(lenient.out, StartsWith("Gate: inconclusive\nVerdicts: 1 inconclusive, 5 pass; counts not recorded in 1 "
                                      "case. Cases: 2.\n"));
  EXPECT_EQ(Run({"gate", "--strict"}).exit_code, 5);
  store::RunRecord interrupted = Record(kThird, 3);
  interrupted.info.status = store::RunStatus::kInterrupted;
  Append(interrupted);
  Append(Record("dddd0000-0000-4000-8000-000000000004", 4));
  SetBaseline("dddd0000-0000-4000-8000-000000000004");
  const SubprocessResult stopped = Run({"gate", kThird});
  EXPECT_EQ(stopped.exit_code, 0) << stopped.err;
  EXPECT_THAT(stopped.out, StartsWith("Gate: inconclusive\nVerdicts: 8 pass; the run was interrupted. Cases: 2.\n"));
  EXPECT_EQ(Run({"gate", kThird, "--strict"}).exit_code, 5);
  EXPECT_THAT(Run({"report", kThird}).out, HasSubstr("Verdicts: 8 pass; the run was interrupted."));
  EXPECT_EQ(nlohmann::json::parse(Run({"runs", "--format", "json"}).out)[1]["answer"], "inconclusive");
}

TEST_F(RunsTest, ACountThatRoseElsewhereIsShownThoughItCannotBeJudged) {
  store::RunRecord baseline = Record(kFirst, 1), run = Record(kSecond, 2);
  for (store::RunRecord* record : {&baseline, &run}) {
    record->benchmarks.push_back(record->benchmarks.front());
    record->benchmarks.back().name = "radius_search/optimized/fp32/8x8/forward";
  }
  run.info.environment.driver = "590.1";
  run.benchmarks.back().event_counts[0].min_count = run.benchmarks.back().event_counts[0].max_count = 2;
  Append(baseline);
  Append(run);
  SetBaseline(kFirst);
  const SubprocessResult gate = Run({"gate", "--format", "markdown"});
  EXPECT_EQ(gate.exit_code, 0) << gate.err;
  const size_t changed = gate.out.find("radius_search/optimized/fp32/8x8/forward` | 1 `->` 2 |");
  ASSERT_NE(changed, std::string::npos) << gate.out;
  EXPECT_LT(changed, gate.out.find("layer_norm/optimized/fp32/8x8/forward` | 1 |")) << gate.out;
  EXPECT_THAT(gate.out, ContainsRegex("`kernel` \\| 2 \\| `layer_norm/optimized")) << "the others";
}

TEST_F(RunsTest, OnlyTimesThatWereJudgedCountForWhatIsSeen) {
  Append(Record(kFirst, 1));
  store::RunRecord brief = Record(kSecond, 2);
  brief.benchmarks.back().points[0].samples.resize(4);
  Append(brief);
  store::RunRecord elsewhere = Record(kThird, 3);
  elsewhere.info.environment.driver = "590.1";
  Append(elsewhere);
  SetBaseline(kFirst);
  const SubprocessResult one = Run({"gate", kSecond});
  EXPECT_THAT(one.out, HasSubstr("too-few-rounds"));
  EXPECT_THAT(one.out, HasSubstr("Slow-downs are seen from 0.5% in half of 1 timed cases"));
  EXPECT_THAT(one.out, EndsWith("Timed but not judged: 1.\n"));
  const SubprocessResult none = Run({"gate", kThird});
  EXPECT_THAT(none.out, EndsWith("Times were not judged.\n"));
  EXPECT_THAT(none.out, Not(HasSubstr("Slow-downs")));
}

TEST_F(RunsTest, AnExtraWaitFailsTheGateAndIsNamed) {
  Append(Record(kFirst, 1));
  AppendWithWait(kSecond, 2);
  SetBaseline(kFirst);
  const SubprocessResult text = Run({"gate"});
  EXPECT_EQ(text.exit_code, 1) << text.err;
  EXPECT_THAT(text.out, HasSubstr("layer_norm/optimized/fp32/8x8/forward  wait  0 -> 1"));
  EXPECT_THAT(text.out, HasSubstr("layer_norm_optimized.cc:41"));
  EXPECT_THAT(Run({"gate", "--format", "markdown"}).out, HasSubstr("`layer_norm_optimized.cc:41`"));
  EXPECT_THAT(Run({"gate", "--format", "junit"}).out, HasSubstr("failures=\"1\""));
  const SubprocessResult to_file = Run({"gate", "bbbb", "--format", "json", "--output", folder_.File("gate.json")});
  EXPECT_EQ(to_file.exit_code, 1);
  EXPECT_EQ(to_file.out, "");
  const nlohmann::json json = nlohmann::json::parse(ReadFile(folder_.File("gate.json")).value());
  EXPECT_EQ(json["answer"], "regressed");
  EXPECT_EQ(json["exit_code"], 1);
  EXPECT_EQ(json["differences"][0]["sites_risen"][0]["run"]["line"], 41);
  EXPECT_EQ(json["differences"][0]["sites_risen"][0]["run"]["operator"], "aten::item");
  const auto history = store::OpenHistory(home_ + "/history.db", {});
  EXPECT_EQ((*history)->ReadJudgements(kSecond)->size(), 1u) << "said four times, kept once";
  EXPECT_EQ(Run({"gate", kFirst, "--baseline", "bbbb"}).exit_code, 0) << "an improvement";
}

TEST_F(RunsTest, AReportThatIsLostIsToldThoughTheGateFails) {
  Append(Record(kFirst, 1));
  AppendWithWait(kSecond, 2);
  SetBaseline(kFirst);
  stallhound::testing::SubprocessOptions options = StallhoundOptions(home_, {"gate"});
  options.argv = {"sh", "-c", "exec '" + options.argv[0] + "' gate > /dev/full"};
  const SubprocessResult result = RunSubprocess(options);
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(result.err, "stallhound: error: writing the output: No space left on device\n");
}

TEST_F(RunsTest, AHomeThatCannotBeEnteredIsTheEnvironments) {
  std::filesystem::create_directory_symlink("home", home_);
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"runs"}, {"gate"}, {"baseline", "set", "aaaa"}}) {
    const SubprocessResult result = Run(arguments);
    EXPECT_EQ(result.exit_code, 4) << arguments[0];
    EXPECT_THAT(result.err, HasSubstr("home/history.db': Too many levels of symbolic links (hint: STALLHOUND_HOME"));
  }
}

TEST_F(RunsTest, WhatIsNotCertainFailsOnlyAStrictGate) {
  Append(Record(kFirst, 1));
  store::RunRecord slower = Record(kSecond, 2);
  for (store::Sample& sample : slower.benchmarks.back().points[0].samples) sample.value += 10'000;
  Append(slower);
  SetBaseline(kFirst);
  const SubprocessResult lenient = Run({"gate"});
  EXPECT_EQ(lenient.exit_code, 0) << lenient.err;
  EXPECT_THAT(lenient.out, HasSubstr("stored-runs-only"));
  EXPECT_EQ(Run({"gate", "--strict"}).exit_code, 5);
}

TEST_F(RunsTest, TheNewestRunIsTheOneAddedLastWhateverTheClockSaid) {
  Append(Record(kFirst, 2));
  Append(Record(kSecond, 10));
  SetBaseline(kFirst);
  EXPECT_THAT(Run({"gate"}).err, Not(HasSubstr("by the clock")));
  AppendWithWait(kThird, 1);
  const SubprocessResult gate = Run({"gate"});
  EXPECT_EQ(gate.exit_code, 1) << gate.out;
  EXPECT_THAT(gate.err, HasSubstr(std::string("taking the run ") + kThird));
  EXPECT_THAT(gate.err, HasSubstr(std::string("it started before the run ") + kSecond));
  const SubprocessResult report = Run({"report"});
  EXPECT_THAT(report.out, StartsWith("Run cccc0000\n"));
  EXPECT_THAT(report.err, HasSubstr("the clock was set back"));
  EXPECT_EQ(Run({"report", "cccc"}).err, "");
}

TEST_F(RunsTest, AGateWithoutRunsOrBaselineSaysWhatToDo) {
  const auto expect = [&](const std::vector<std::string>& arguments, const char* hint) {
    const SubprocessResult result = Run(arguments);
    EXPECT_EQ(result.exit_code, 3) << hint;
    EXPECT_EQ(result.out, "");
    EXPECT_THAT(result.err, HasSubstr(hint));
  };
  expect({"gate"}, "stallhound bench");
  EXPECT_FALSE(std::filesystem::exists(home_));
  Append(Record(kFirst, 1));
  expect({"gate"}, "stallhound baseline set RUN --name main");
  expect({"gate", "ffff"}, "ffff");
  SetBaseline(kFirst);
  expect({"gate"}, "it is the baseline 'main' itself");
  store::RunRecord other = Record(kSecond, 2);
  for (store::BenchmarkResult& result : other.benchmarks) result.suite = "other";
  Append(other);
  expect({"gate"}, "none of its 2 cases");
}

TEST_F(RunsTest, RunsListsTheNewestFirstWithTheirVerdict) {
  EXPECT_EQ(Run({"runs"}).exit_code, 3);
  Append(Record(kFirst, 1));
  store::RunRecord topic = Record(kSecond, 2);
  topic.info.branch = "topic";
  AddWait(topic);
  Append(topic);
  Append(Record(kThird, 3));
  SetBaseline(kFirst);
  EXPECT_EQ(Run({"gate", "bbbb"}).exit_code, 1);
  const nlohmann::json json = nlohmann::json::parse(Run({"runs", "--format", "json"}).out);
  ASSERT_EQ(json.size(), 3u);
  EXPECT_EQ(json[0]["run"]["uuid"], kThird);
  EXPECT_EQ(json[0]["case_count"], 2);
  EXPECT_TRUE(json[0]["answer"].is_null());
  EXPECT_EQ(json[1]["answer"], "regressed");
  const SubprocessResult text = Run({"runs", "--branch", "topic"});
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_THAT(text.out, HasSubstr("bbbb0000"));
  EXPECT_THAT(text.out, HasSubstr("0123456789ab"));
  EXPECT_THAT(text.out, Not(HasSubstr("cccc0000")));
  EXPECT_THAT(Run({"runs", "--limit", "1"}).out, Not(HasSubstr("bbbb0000")));
  EXPECT_THAT(Run({"runs", "--branch", "none"}).err, HasSubstr("no run of that branch"));
  EXPECT_EQ(Run({"runs", "--limit", "0"}).exit_code, 2);
}

TEST_F(RunsTest, ABaselineIsSetAndShown) {
  Append(Record(kFirst, 1));
  Append(Record(kSecond, 2));
  EXPECT_EQ(Run({"baseline", "show"}).exit_code, 3);
  EXPECT_EQ(Run({"baseline", "set"}).exit_code, 2);
  EXPECT_EQ(Run({"baseline", "forget"}).exit_code, 2);
  EXPECT_EQ(Run({"baseline", "set", "ffff"}).exit_code, 3);
  const SubprocessResult set = Run({"baseline", "set", "aaaa", "--reason", "as shipped"});
  EXPECT_EQ(set.exit_code, 0) << set.err;
  EXPECT_THAT(set.err, HasSubstr("its program is not kept"));
  stallhound::testing::TempDir program;
  const absl::StatusOr<KeptBuild> kept = KeepBuild(home_, program.Write("bench", "program", 0755));
  ASSERT_TRUE(kept.ok() && AddRun(*kept, kSecond).ok()) << kept.status();
  EXPECT_THAT(Run({"baseline", "set", "bbbb", "--name", "other"}).err, Not(HasSubstr("not kept")));
  const SubprocessResult shown = Run({"baseline", "show"});
  EXPECT_THAT(shown.out, StartsWith(std::string("main: run ") + kFirst + " of 2026-01-01 00:00:00 UTC, set "));
  EXPECT_THAT(shown.out, HasSubstr(": as shipped\n"));
  EXPECT_EQ(Run({"gate"}).exit_code, 0);
  EXPECT_EQ(Run({"gate", "--baseline", "release"}).exit_code, 3);
  EXPECT_EQ(Run({"baseline", "set", "bbbb", "--name", "release"}).exit_code, 0);
  EXPECT_EQ(Run({"gate", "aaaa", "--baseline", "release"}).exit_code, 0);
  EXPECT_EQ(Run({"baseline", "show", "aaaa"}).exit_code, 2);
}

TEST_F(RunsTest, ABaselineThatLittleCanBeJudgedAgainstIsSetWithAWarning) {
  store::RunRecord interrupted = Record(kFirst, 1);
  interrupted.info.status = store::RunStatus::kInterrupted;
  Append(interrupted);
  store::RunRecord failed = Record(kSecond, 2);
  for (store::BenchmarkResult& result : failed.benchmarks) result.outcome = store::BenchmarkOutcome::kFailed;
  Append(failed);
  Append(Record(kThird, 3));
  const SubprocessResult first = Run({"baseline", "set", "aaaa"});
  EXPECT_EQ(first.exit_code, 0) << first.err;
  EXPECT_THAT(first.err, HasSubstr(std::string("the run ") + kFirst + " was interrupted"));
  EXPECT_THAT(Run({"baseline", "show"}).out, HasSubstr(kFirst));
  const SubprocessResult second = Run({"baseline", "set", "bbbb"});
  EXPECT_EQ(second.exit_code, 0) << second.err;
  EXPECT_THAT(second.err, HasSubstr(std::string("2 of 2 cases of the run ") + kSecond + " failed"));
  EXPECT_THAT(Run({"baseline", "set", "cccc"}).err, Not(HasSubstr("judged against")));
}

TEST_F(RunsTest, AReportHoldsTheRunWhole) {
  EXPECT_EQ(Run({"report"}).exit_code, 3);
  Append(Record(kFirst, 1));
  AppendWithWait(kSecond, 2);
  const SubprocessResult text = Run({"report"});
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_THAT(text.out, StartsWith("Run bbbb0000\n"));
  EXPECT_THAT(text.out, HasSubstr("Not judged"));
  EXPECT_THAT(text.out, HasSubstr("fp32/8x8/forward"));
  EXPECT_THAT(text.out, HasSubstr("3.00x"));
  EXPECT_THAT(Run({"report", "--format", "markdown"}).out, HasSubstr("`layer_norm_optimized.cc:41`"));
  EXPECT_EQ(Run({"baseline", "set", "aaaa"}).exit_code, 0);
  EXPECT_EQ(Run({"gate"}).exit_code, 1);
  const std::string page = folder_.File("report.html");
  EXPECT_EQ(Run({"report", "bbbb", "--format", "html", "--output", page}).exit_code, 0);
  EXPECT_THAT(ReadFile(page).value(), HasSubstr("1 regressed, 7 pass"));
  const nlohmann::json json = nlohmann::json::parse(Run({"report", "--format", "json"}).out);
  EXPECT_EQ(json["gate"]["answer"], "regressed");
  EXPECT_EQ(json["benchmarks"][0]["wait_count"]["max"], 1);
  EXPECT_THAT(Run({"report", "aaaa", "--format", "markdown"}).out, StartsWith("# Run aaaa0000\n"));
}

TEST_F(RunsTest, AReportHasTheNotesOfTheGate) {
  Append(Record(kFirst, 1));
  store::RunRecord other = Record(kSecond, 2);
  other.info.environment.driver = "590.1";
  other.info.machine = "bench-2";
  other.benchmarks.front().name = "new/case";
  Append(other);
  SetBaseline(kFirst);
  EXPECT_EQ(Run({"gate"}).exit_code, 0);
  const std::string gate = Run({"gate", "--format", "markdown"}).out;
  const size_t start = gate.find("## Notes\n");
  ASSERT_NE(start, std::string::npos) << gate;
  const std::string notes = gate.substr(start, gate.find("\n## ", start) - start);
  EXPECT_THAT(notes,
              AllOf(HasSubstr("driver was 580.1, is 590.1"), HasSubstr("bench-1 and bench-2"), HasSubstr("new/case")));
  EXPECT_THAT(Run({"report", "--format", "markdown"}).out, HasSubstr(notes));
  EXPECT_THAT(Run({"report"}).out, HasSubstr("The machines differ: bench-1 and bench-2."));
  EXPECT_THAT(Run({"report", "--format", "html"}).out, HasSubstr("The machines differ: bench-1 and bench-2."));
}

TEST_F(RunsTest, SitesOfAReportAreSortedByWhatItPrints) {
  store::RunRecord run = Record(kFirst, 1);
  AddWait(run);
  store::BenchmarkResult& often = run.benchmarks.front();
  often.iteration_count = 200;
  often.sync_sites = {{EventKind::kWait, "often.cc", 1, "Forward", std::nullopt, std::nullopt, "cudaStreamSynchronize",
                       200, 400'000, 300'000, 260'000},
                      {EventKind::kWait, "unknown.cc", 2, "Forward", std::nullopt, std::nullopt,
                       "cudaStreamSynchronize", 200, 400'000, 300'000, std::nullopt}};
  Append(run);
  const std::string text = Run({"report", "--format", "markdown"}).out;
  EXPECT_LT(text.find("layer_norm_optimized.cc:41"), text.find("often.cc:1")) << "12.5 us before 1.3 us\n" << text;
  EXPECT_LT(text.find("often.cc:1"), text.find("unknown.cc:2")) << text;
}

TEST_F(RunsTest, AnErrorOfAnyLengthIsShortInTablesAndWholeInJson) {
  Append(Record(kFirst, 1));
  store::RunRecord failed = Record(kSecond, 2);
  store::BenchmarkResult& result = failed.benchmarks.back();
  result.outcome = store::BenchmarkOutcome::kFailed;
  result.message = "oracle " + std::string(5000, 'x') + " end";
  Append(failed);
  SetBaseline(kFirst);
  for (const char* command : {"gate", "report"}) {
    const std::string text = Run({command, "--format", "markdown"}).out;
    EXPECT_LT(std::count(text.begin(), text.end(), 'x'), 700) << command;
    EXPECT_THAT(text, HasSubstr("oracle xxx"));
    EXPECT_THAT(Run({command, "--format", "json"}).out, HasSubstr(*result.message));
  }
  EXPECT_THAT(Run({"gate", "--format", "markdown"}).out, HasSubstr("case-failed: oracle xxx")) << "the reason";
}

TEST_F(RunsTest, ATimeBeyondAllRangesIsNotShownAsAnother) {
  store::RunRecord run = Record(kFirst, 1);
  run.benchmarks.back().points[0].median = 1e300;
  Append(run);
  const SubprocessResult result = Run({"report"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("out of range"));
  EXPECT_THAT(result.out, Not(HasSubstr("2562047 h")));
}

TEST_F(RunsTest, QuerySeesTheHistoryWithoutACapture) {
  Append(Record(kFirst, 1));
  AppendWithWait(kSecond, 2);
  const SubprocessResult result = Run({"query", "--format", "csv",
                                       "SELECT benchmark, kernel_count, wait_count, host_to_device_bytes FROM "
                                       "v_benchmark_count WHERE is_last_run ORDER BY benchmark"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out,
            "benchmark,kernel_count,wait_count,host_to_device_bytes\n"
            "layer_norm/optimized/fp32/8x8/forward,1,1,4096\n"
            "layer_norm/reference/fp32/8x8/forward,1,0,4096\n");
  EXPECT_EQ(Run({"query", "DELETE FROM history.run"}).exit_code, 3);
}

TEST_F(RunsTest, QueryWithoutAHistorySaysWhatMakesOne) {
  const SubprocessResult result = Run({"query", "SELECT benchmark FROM v_benchmark_count"});
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_THAT(result.err, HasSubstr("`stallhound bench` makes it"));
}

TEST_F(RunsTest, QueryRefusesTheHistoriesThatOtherCommandsRefuse) {
  Append(Record(kFirst, 1));
  const std::string path = home_ + "/history.db";
  const auto change = [&](const char* sql) {
    const SqliteConnection database = OpenSqlite(path, SQLITE_OPEN_READWRITE).value();
    ASSERT_TRUE(ExecuteSql(database.get(), sql).ok());
  };
  const auto expect = [&](const char* cause) {
    const SubprocessResult result = Run({"query", "SELECT 1"});
    EXPECT_EQ(result.exit_code, 3);
    EXPECT_THAT(result.err, HasSubstr(cause));
    const std::string other = Run({"runs"}).err;
    EXPECT_EQ(result.err.substr(result.err.find("opening")), other.substr(other.find("opening")));
  };
  change("PRAGMA user_version = 99");
  expect("its schema is version 99");
  change("PRAGMA application_id = 7");
  expect("an SQLite database of something else");
}

}  // namespace
}  // namespace stallhound::cli
