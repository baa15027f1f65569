// `stallhound bench` and `ab` as programs, with a bench that needs no LibTorch.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/testing/subprocess.h"
#include "base/testing/temp_dir.h"
#include "cli/bench/keep_run.h"
#include "cli/bench/testing/fake_bench.h"
#include "cli/testing/captured_console.h"
#include "cli/testing/run_stallhound.h"
#include "store/history.h"
#include "store/testing/test_runs.h"

namespace stallhound::cli {
namespace {

using stallhound::testing::RunSubprocess;
using stallhound::testing::SubprocessResult;
using store::RunStatus;
using ::testing::HasSubstr;
using ::testing::Not;

class BenchTest : public ::testing::Test {
 protected:
  void SetUp() override { Configure("rounds = 2"); }

  void Configure(const std::string& lines) {
    folder_.Write("stallhound.toml", "[bench]\nbinary = \"" + fake_.binary() + "\"\n" + lines + "\n");
  }
  SubprocessResult Run(const std::vector<std::string>& arguments) {
    stallhound::testing::SubprocessOptions options = StallhoundOptions(home_, arguments);
    options.argv[0] = std::filesystem::absolute(options.argv[0]);
    options.working_folder = folder_.path();
    options.timeout_ms = 120'000;
    options.environment.emplace_back("FAKE_BENCH", fake_.Plan());
    options.environment.emplace_back("STALLHOUND_RECORDER", fake_.Recorder());
    options.environment.insert(options.environment.end(), environment_.begin(), environment_.end());
    options.while_running = while_running_;
    return RunSubprocess(options);
  }
  // Newest first.
  std::vector<store::RunInfo> Runs() {
    const auto history = store::OpenHistory(home_ + "/history.db", {.access = store::Access::kRead});
    EXPECT_TRUE(history.ok()) << history.status();
    return history.ok() ? (*history)->LastRuns({}).value() : std::vector<store::RunInfo>();
  }
  // The fake under another name, with other times.
  std::string SlowerBench() {
    const std::string path = folder_.File("slower.py");
    std::filesystem::copy_file(fake_.binary(), path);
    fake_.plan["times_us_of"] = {{"slower.py", {{"layer/a", 1500.0}, {"layer/b", 2000.0}}}};
    return path;
  }

  stallhound::testing::TempDir folder_;
  std::string home_ = folder_.File("home");
  FakeBench fake_;
  std::vector<std::pair<std::string, std::optional<std::string>>> environment_;
  std::function<void(pid_t, const std::string&, const std::string&)> while_running_;
};

TEST_F(BenchTest, MeasuresWhatTheConfigurationNames) {
  fake_.Record();
  const SubprocessResult result = Run({"bench"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("2 cases of suite 'bench', 2 rounds"));
  EXPECT_THAT(result.out, HasSubstr("counts of 1 case"));
  EXPECT_THAT(result.out, HasSubstr("stallhound gate"));
  const std::vector<store::RunInfo> runs = Runs();
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].status, RunStatus::kComplete);
  EXPECT_THAT(result.out, HasSubstr(runs[0].uuid));
  EXPECT_THAT(result.out, HasSubstr(runs[0].captures.at(0).path));
  EXPECT_EQ(fake_.Calls().size(), 3u);
}

TEST_F(BenchTest, OptionsReplaceTheConfiguration) {
  Configure("binary-is-not-asked-for = 1");
  EXPECT_EQ(Run({"bench"}).exit_code, 3) << "an unknown key";
  Configure("rounds = 2");
  const SubprocessResult result = Run({"bench", "--rounds", "1", "--filter", "^layer/b", "--binary", SlowerBench()});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("1 case of suite 'bench', 1 round in"));
  EXPECT_EQ(Runs().size(), 1u);
  EXPECT_EQ(Run({"bench", "--rounds", "0"}).exit_code, 2);
}

TEST_F(BenchTest, AFailedCaseIsAWarningAllFailedAreAnError) {
  fake_.plan["fail"] = {{"layer/b", "y is wrong"}};
  SubprocessResult result = Run({"bench"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.err, HasSubstr("layer/b failed: y is wrong"));
  EXPECT_THAT(result.out, HasSubstr("(1 failed)"));
  fake_.plan["fail"]["layer/a"] = "x is wrong";
  result = Run({"bench"});
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_EQ(Runs().size(), 2u);
}

TEST_F(BenchTest, ACaseThatSomeRoundsLackIsNamed) {
  fake_.plan["only_in"] = {{"layer/b", 1}};
  const SubprocessResult result = Run({"bench"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.err, HasSubstr("layer/b was timed in 1 of 2 rounds: the bench did not report it in the others"));
  EXPECT_THAT(result.err, Not(HasSubstr("layer/a was timed")));
}

TEST_F(BenchTest, ACrashKeepsNothing) {
  fake_.plan["in_call"] = 2;
  fake_.plan["crash"] = true;
  const SubprocessResult result = Run({"bench"});
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_THAT(result.err, HasSubstr("round 2 of 2: it was ended by signal 11"));
  EXPECT_TRUE(Runs().empty());
}

TEST_F(BenchTest, AMissingBinaryIsNamed) {
  const SubprocessResult result = Run({"bench", "--binary", "none"});
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_THAT(result.err, HasSubstr(folder_.File("none") + "': there is no such program (hint: build it, as by"));
}

TEST_F(BenchTest, AMissingBuildIsNamedBeforeAnythingIsMeasured) {
  const SubprocessResult result = Run({"ab", fake_.binary(), "/nope"});
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_THAT(result.err, HasSubstr("'/nope': there is no such program (hint: BUILD_A and BUILD_B"));
  EXPECT_THAT(result.err, Not(HasSubstr("stallhound.toml")));
  EXPECT_TRUE(fake_.Calls().empty());
}

TEST_F(BenchTest, AnOutputThatCannotBeWrittenIsNamedBeforeAnythingIsMeasured) {
  const SubprocessResult result =
      Run({"ab", fake_.binary(), fake_.binary(), "--output", folder_.File("none/report.json"), "--format", "json"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("--output: "));
  EXPECT_THAT(result.err, HasSubstr(folder_.File("none/report.json")));
  EXPECT_TRUE(fake_.Calls().empty());
}

TEST_F(BenchTest, AFilterThatIsNoRegularExpressionIsUsage) {
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"bench"}, {"ab", fake_.binary(), fake_.binary()}}) {
    std::vector<std::string> arguments = command;
    arguments.insert(arguments.end(), {"--filter", "("});
    const SubprocessResult result = Run(arguments);
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_THAT(result.err, HasSubstr("--filter: '(' is no regular expression ("));
  }
  EXPECT_TRUE(fake_.Calls().empty());
}

TEST_F(BenchTest, AHistoryThatCannotBeOpenedIsSaidBeforeMeasuring) {
  folder_.Write("home/history.db", "no database at all, but long enough to be looked at as one, surely");
  const SubprocessResult result = Run({"bench"});
  EXPECT_EQ(result.exit_code, 3) << result.err;
  EXPECT_TRUE(fake_.Calls().empty());
}

TEST_F(BenchTest, CtrlCKeepsTheRoundsAsAnInterruptedRun) {
  fake_.plan["in_call"] = 2;
  fake_.plan["interrupt"] = 1;
  const SubprocessResult result = Run({"bench"});
  EXPECT_EQ(result.signal, SIGINT) << result.err;
  EXPECT_THAT(result.out, HasSubstr("(interrupted)"));
  ASSERT_EQ(Runs().size(), 1u);
  EXPECT_EQ(Runs()[0].status, RunStatus::kInterrupted);
}

TEST_F(BenchTest, SigkillLeavesNothingForLong) {
  const std::string temporary = folder_.File("temporary");
  std::filesystem::create_directories(temporary);
  environment_ = {{"TMPDIR", temporary}};
  fake_.plan["in_call"] = 1;
  fake_.plan["hang"] = fake_.plan["ignore"] = true;
  fake_.plan["start"] = folder_.File("started");
  while_running_ = [this](pid_t pid, const std::string&, const std::string&) {
    if (std::filesystem::exists(folder_.File("started"))) kill(pid, SIGKILL);
  };
  EXPECT_EQ(Run({"bench"}).signal, SIGKILL);
  const std::vector<std::string> started = FakeBench::Started(folder_.File("started"));
  ASSERT_EQ(started.size(), 2u);
  EXPECT_EQ(FakeBench::RunningCount({started[0]}), 0);
  kill(std::stoi(started[1]), SIGKILL);

  while_running_ = nullptr;
  fake_.plan["in_call"] = 0;
  ASSERT_FALSE(std::filesystem::is_empty(temporary));
  const std::string stale = std::filesystem::directory_iterator(temporary)->path();
  EXPECT_EQ(Run({"bench"}).exit_code, 0);
  EXPECT_TRUE(std::filesystem::exists(stale)) << "another may have made it just now";
  std::filesystem::last_write_time(stale, std::filesystem::file_time_type::clock::now() - std::chrono::minutes(2));
  EXPECT_EQ(Run({"bench"}).exit_code, 0);
  EXPECT_TRUE(std::filesystem::is_empty(temporary));
}

TEST_F(BenchTest, AnEqualPairPasses) {
  const SubprocessResult result = Run({"ab", fake_.binary(), fake_.binary(), "--rounds", "8"});
  EXPECT_EQ(result.exit_code, 0) << result.err << result.out;
  EXPECT_EQ(Runs().size(), 2u);
  EXPECT_EQ(Runs()[0].revision, std::nullopt);
}

TEST_F(BenchTest, ASlowerBuildIsConfirmedAndFails) {
  const SubprocessResult result = Run({"ab", fake_.binary(), SlowerBench(), "--rounds", "8", "--format", "json"});
  EXPECT_EQ(result.exit_code, 1) << result.err;
  EXPECT_THAT(result.out, HasSubstr("confirmed-slower"));
  EXPECT_TRUE(nlohmann::json::accept(result.out));
  const std::vector<std::string> calls = fake_.Calls();
  EXPECT_EQ(calls.size(), 16u + 2u + 32u) << "screen, recording passes, confirmation";
  EXPECT_THAT(calls.back(), HasSubstr("^(layer/a)")) << "of the screened case alone";
  const auto history = store::OpenHistory(home_ + "/history.db", {}).value();
  const auto runs = history->LastRuns({}).value();
  EXPECT_EQ(history->ReadJudgements(runs[0].uuid)->size() + history->ReadJudgements(runs[1].uuid)->size(), 1u);
}

TEST_F(BenchTest, KeepingARunTwiceKeepsItOnce) {
  const store::RunRecord run = stallhound::testing::FullRun(1);
  EXPECT_TRUE(KeepRun(home_, run).ok());
  EXPECT_TRUE(KeepRun(home_, run).ok());
  EXPECT_EQ(Runs().size(), 1u);
  CapturedConsole console;
  EXPECT_TRUE(CheckHistory(home_, console.console()).ok());
}

}  // namespace
}  // namespace stallhound::cli
