#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/testing/golden.h"
#include "base/testing/subprocess.h"
#include "base/testing/temp_dir.h"
#include "capture/spool/generate_spool.h"
#include "cli/testing/run_stallhound.h"

namespace stallhound::cli {
namespace {

using stallhound::testing::RunSubprocess;
using stallhound::testing::SubprocessOptions;
using stallhound::testing::SubprocessResult;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// Programs are shell scripts; one that "uses the GPU" copies a spool that was made before to where the recorder would
// write it, as a process that no longer runs.
class HuntTest : public ::testing::Test {
 protected:
  void SetUp() override {
    spool_ = capture::spool::GenerateSpool(folder_.path(), {});
    ASSERT_NE(spool_, "");
  }

  std::string Script(const std::string& body) {
    const std::string copy = "cp '" + spool_ + "' \"$STALLHOUND_SPOOL_DIR/stallhound-999999999-0a.spool\"\n";
    std::string text = "#!/bin/sh\n" + body + "\n";
    const size_t at = text.find("RECORD");
    if (at != std::string::npos) text.replace(at, 6, copy);
    return folder_.Write("program.sh", text, 0755);
  }

  SubprocessResult Hunt(const std::vector<std::string>& options, const std::vector<std::string>& program) {
    std::vector<std::string> arguments = {"hunt"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    if (!program.empty()) arguments.push_back("--");
    arguments.insert(arguments.end(), program.begin(), program.end());
    SubprocessOptions subprocess = StallhoundOptions(home_, arguments);
    subprocess.stdin_text = stdin_text_;
    subprocess.while_running = while_running_;
    subprocess.environment.insert(subprocess.environment.end(), environment_.begin(), environment_.end());
    return RunSubprocess(subprocess);
  }

  std::vector<std::string> Captures() {
    std::vector<std::string> captures;
    for (const auto& entry : std::filesystem::directory_iterator(home_)) {
      if (entry.path().extension() == ".stallhound") captures.push_back(entry.path());
    }
    return captures;
  }

  bool HasSpools() { return std::filesystem::exists(home_ + "/spool") && !std::filesystem::is_empty(home_ + "/spool"); }

  stallhound::testing::TempDir folder_;
  std::string home_ = folder_.File("home");
  std::string spool_;
  std::string stdin_text_;
  std::vector<std::pair<std::string, std::optional<std::string>>> environment_;
  std::function<void(pid_t, const std::string&, const std::string&)> while_running_;
};

TEST_F(HuntTest, ReportsAndKeepsACapture) {
  const SubprocessResult result = Hunt({}, {Script("RECORD")});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(result.err, HasSubstr("train.py"));
  EXPECT_THAT(result.err, HasSubstr("stallhound: capture: "));
  EXPECT_EQ(Captures().size(), 1u);
  EXPECT_FALSE(HasSpools());
}

TEST_F(HuntTest, StreamsArgumentsAndFolderAreTheProgramsOwn) {
  stdin_text_ = "from stdin\n";
  const std::string script = Script("RECORD\ncat; echo \"<$1> <$2>\"; echo to stderr >&2; pwd");
  const SubprocessResult result = Hunt({"--output", folder_.File("report.txt")}, {script, "--help", "a b"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.out, "from stdin\n<--help> <a b>\n" + std::filesystem::current_path().string() + "\n");
  EXPECT_THAT(result.err, StartsWith("to stderr\n"));
  EXPECT_THAT(*ReadFile(folder_.File("report.txt")), HasSubstr("train.py"));
}

TEST_F(HuntTest, EveryFormatIsWritten) {
  const std::string script = Script("RECORD\nexit 3");
  const std::string output = folder_.File("report");
  EXPECT_EQ(Hunt({"--format", "json", "--output", output}, {script}).exit_code, 3);
  EXPECT_EQ(nlohmann::json::parse(*ReadFile(output))["program"]["exit_code"], 3);
  EXPECT_EQ(Hunt({"--format", "html", "--output", output}, {script}).exit_code, 3);
  EXPECT_THAT(*ReadFile(output), HasSubstr("<html"));
  EXPECT_EQ(Hunt({"--format", "markdown", "--output", "-"}, {script}).exit_code, 3);
  EXPECT_THAT(Hunt({"--format", "markdown", "--output", "-"}, {script}).out, HasSubstr("train.py"));
}

TEST_F(HuntTest, AnOutputThatIsAFolderIsRefusedBeforeTheProgramRuns) {
  const SubprocessResult result = Hunt({"--output", folder_.path()}, {Script("echo ran")});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(result.err, HasSubstr("--output"));
}

TEST_F(HuntTest, EndsAsTheProgramDid) {
  EXPECT_EQ(Hunt({}, {Script("RECORD\nexit 42")}).exit_code, 42);
  EXPECT_EQ(Hunt({}, {Script("exit 42")}).exit_code, 42);
  EXPECT_EQ(Hunt({}, {Script("RECORD\nkill -KILL $$")}).signal, SIGKILL);
  EXPECT_EQ(Hunt({}, {Script("kill -SEGV $$")}).signal, SIGSEGV);
  EXPECT_EQ(Captures().size(), 1u) << "the same recording is the same capture";
}

TEST_F(HuntTest, AProgramThatCannotStartIsAsInAShell) {
  const SubprocessResult missing = Hunt({}, {"no-such-program"});
  EXPECT_EQ(missing.exit_code, 127);
  EXPECT_THAT(missing.err, HasSubstr("starting 'no-such-program'"));
  EXPECT_EQ(Hunt({}, {folder_.Write("data", "x")}).exit_code, 126);
  EXPECT_FALSE(HasSpools());
}

TEST_F(HuntTest, PassesSignalsOn) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1}) {
    bool is_sent = false;
    while_running_ = [&](pid_t pid, const std::string& out, const std::string&) {
      if (!is_sent && out == "ready\n") is_sent = kill(pid, signal) == 0;
    };
    const SubprocessResult result = Hunt({}, {Script("trap 'echo caught; exit 9' INT TERM HUP QUIT USR1\nRECORD\n"
                                                     "echo ready\nwhile :; do sleep 0.01; done")});
    EXPECT_EQ(result.out, "ready\ncaught\n") << signal;
    EXPECT_EQ(result.exit_code, 9) << signal;
    EXPECT_THAT(result.err, HasSubstr("capture: ")) << signal;
  }
}

TEST_F(HuntTest, ASignalThatEndsTheProgramEndsUs) {
  bool is_sent = false;  // a second one would end our own work
  while_running_ = [&](pid_t pid, const std::string& out, const std::string&) {
    if (!is_sent && out == "ready\n") is_sent = kill(pid, SIGTERM) == 0;
  };
  const SubprocessResult result = Hunt({}, {Script("RECORD\necho ready\nexec sleep 20")});
  EXPECT_EQ(result.signal, SIGTERM);
  EXPECT_THAT(result.err, HasSubstr("capture: "));
}

TEST_F(HuntTest, IgnoredSignalsStayIgnored) {
  SubprocessOptions options = StallhoundOptions(home_, {"hunt", "--", "sh", "-c", "kill -HUP $$; echo alive"});
  options.argv.insert(options.argv.begin(), {"sh", "-c", "trap '' HUP; \"$@\"", "sh"});
  EXPECT_EQ(RunSubprocess(options).out, "alive\n");
}

TEST_F(HuntTest, ExitCodeCanBeTheVerdicts) {
  EXPECT_EQ(Hunt({"--exit-code", "verdict"}, {Script("RECORD\nexit 42")}).exit_code, 0);
  EXPECT_EQ(Hunt({"--exit-code", "verdict"}, {Script("exit 42")}).exit_code, 4);
  EXPECT_EQ(Hunt({"--strict"}, {Script("exit 0")}).exit_code, 4);
  EXPECT_EQ(Hunt({"--strict"}, {Script("exit 42")}).exit_code, 42);
  EXPECT_EQ(Hunt({"--strict", "--exit-code", "program"}, {Script("exit 0")}).exit_code, 0);
  EXPECT_EQ(Hunt({"--strict"}, {Script("RECORD")}).exit_code, 0);
}

TEST_F(HuntTest, AnIncompleteRecordingIsInconclusiveIfStrict) {
  stallhound::testing::TempDir other;
  capture::spool::GeneratedSpool killed;
  killed.is_closed = false;
  spool_ = capture::spool::GenerateSpool(other.path(), killed);
  EXPECT_EQ(Hunt({}, {Script("RECORD")}).exit_code, 0);
  EXPECT_EQ(Hunt({"--strict"}, {Script("RECORD")}).exit_code, 5);
}

// The generated program waits ten times in its only step.
TEST_F(HuntTest, ABudgetDecidesTheExitCode) {
  const std::vector<std::string> over = {"--range", "step", "--max-waits", "0"};
  const SubprocessResult exceeded = Hunt(over, {Script("RECORD")});
  EXPECT_EQ(exceeded.exit_code, 1) << exceeded.err;
  EXPECT_THAT(exceeded.err, HasSubstr("Budget exceeded: 1 of 1 limit."));
  EXPECT_THAT(exceeded.err, HasSubstr("train.py:"));
  EXPECT_THAT(exceeded.err, HasSubstr("stallhound: capture: "));
  EXPECT_FALSE(HasSpools());
  EXPECT_EQ(Hunt(over, {Script("RECORD\nexit 42")}).exit_code, 42) << "the program failed";
  EXPECT_EQ(Hunt({"--range", "step", "--max-waits", "1000"}, {Script("RECORD")}).exit_code, 0);
  EXPECT_EQ(Hunt({"--max-waits", "0", "--exit-code", "program"}, {Script("RECORD")}).exit_code, 0);
  EXPECT_EQ(Hunt({"--max-waits", "0", "--exit-code", "verdict"}, {Script("RECORD\nexit 42")}).exit_code, 1);
  EXPECT_EQ(Hunt({"--max-waits", "0", "--from", spool_}, {}).exit_code, 1);
  EXPECT_EQ(Hunt({"--max-recoverable-ratio", "1", "--from", spool_}, {}).exit_code, 0);
  EXPECT_EQ(Hunt({"--max-waits", "0"}, {Script("exit 0")}).exit_code, 4) << "nothing was recorded";
}

TEST_F(HuntTest, ABudgetThatCannotBeJudgedIsNeverFine) {
  stallhound::testing::TempDir other;
  capture::spool::GeneratedSpool killed;
  killed.is_closed = false;
  spool_ = capture::spool::GenerateSpool(other.path(), killed);
  const SubprocessResult result = Hunt({"--max-waits", "1000", "--from", spool_}, {});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.out, HasSubstr("Budget inconclusive: 1 of 1 limit."));
  EXPECT_EQ(Hunt({"--max-waits", "1000", "--strict", "--from", spool_}, {}).exit_code, 5);
  EXPECT_EQ(Hunt({"--max-waits", "0", "--strict", "--from", spool_}, {}).exit_code, 1);
}

// The process in mode light is the later one; the first one's mode does not stand for both.
TEST_F(HuntTest, WhatOneProcessDidNotRecordIsNot0) {
  stallhound::testing::TempDir mixed;
  capture::spool::GenerateSpool(mixed.path(), {});
  capture::spool::GenerateSpool(mixed.path(), {.mode = capture::spool::Mode::kLight});
  const SubprocessResult hunt = Hunt({"--from", mixed.path(), "--format", "json"}, {});
  const nlohmann::json report = nlohmann::json::parse(hunt.out);
  EXPECT_EQ(report["sync_point_count"], 20);
  EXPECT_TRUE(report["capture"]["mode"].is_null());
  EXPECT_TRUE(report["device_idle"].is_null());
  for (const nlohmann::json& site : report["sites"]) EXPECT_TRUE(site["cost"]["idle_ns"].is_null());
  EXPECT_THAT(std::string(report["notes"][0]), HasSubstr("in mode light"));
  EXPECT_EQ(Hunt({"--max-recoverable-ratio", "1", "--strict", "--from", mixed.path()}, {}).exit_code, 5);
  EXPECT_EQ(Hunt({"--max-waits", "10", "--strict", "--from", mixed.path()}, {}).exit_code, 0);
  const nlohmann::json counts =
      nlohmann::json::parse(RunSubprocess(StallhoundOptions(home_, {"counts", mixed.path(), "--format", "json"})).out);
  EXPECT_TRUE(counts["total"]["kernel_count"].is_null());
  for (const nlohmann::json& span : counts["spans"]) EXPECT_TRUE(span["kernel_count"].is_null());
}

TEST_F(HuntTest, ABudgetFileLimitsRangesAndAllowsSites) {
  const std::string limits = "[[range]]\nname = \"step\"\nmax-waits = 0\n[[range]]\nmax-allocations = 0\n";
  const auto allow = [](const std::string& expires) {
    return "[[allow]]\noperator = \"aten::item\"\nreason = \"r\"\nexpires = " + expires + "\n";
  };
  const std::string output = folder_.File("report.json");
  const std::string over = folder_.Write("over.toml", limits + allow("2020-01-01"));
  EXPECT_EQ(Hunt({"--budget", over, "--format", "json", "--output", output, "--from", spool_}, {}).exit_code, 1);
  const nlohmann::json report = nlohmann::json::parse(*ReadFile(output));
  EXPECT_EQ(report["verdict_exit_code"], 1);
  EXPECT_TRUE(report["range"].is_null());
  const nlohmann::json& budget = report["budget"];
  EXPECT_EQ(budget["outcome"], "exceeded");
  ASSERT_EQ(budget["limits"].size(), 2u);
  EXPECT_EQ(budget["limits"][0]["range"], "step");
  EXPECT_EQ(budget["limits"][0]["outcome"], "exceeded");
  ASSERT_FALSE(budget["limits"][0]["sites"].empty());
  EXPECT_EQ(budget["limits"][1]["outcome"], "fine");
  EXPECT_THAT(std::string(budget["notes"][0]), HasSubstr("aten::item expired on 2020-01-01"));

  std::string allowed = limits;
  for (const nlohmann::json& site : budget["limits"][0]["sites"]) {
    const nlohmann::json& frame = site["innermost_user"];
    allowed += "[[allow]]\nsite = \"" + std::string(frame["file"]) + ":" + frame["line"].dump() +
               "\"\nreason = \"r\"\nexpires = 9999-12-31\n";
  }
  const SubprocessResult fine = Hunt({"--budget", folder_.Write("fine.toml", allowed), "--from", spool_}, {});
  EXPECT_EQ(fine.exit_code, 0) << fine.out;
  EXPECT_THAT(fine.out, HasSubstr("Budget fine: 2 of 2 limits."));
}

TEST_F(HuntTest, ALimitThatCannotBeComparedIsRefused) {
  for (const char* ratio : {"nan", "-nan", "inf", "1.01", "-0.1", "0.5x"}) {
    const SubprocessResult result = Hunt({"--max-recoverable-ratio", ratio, "--from", spool_}, {});
    EXPECT_EQ(result.exit_code, 2) << ratio;
    EXPECT_THAT(result.err, HasSubstr("a ratio from 0 to 1 is expected")) << ratio;
  }
  for (const char* count : {"9007199254740993", "9223372036854775807", "9223372036854775808"}) {
    const SubprocessResult result = Hunt({"--max-waits", count, "--from", spool_}, {});
    EXPECT_EQ(result.exit_code, 2) << count;
    EXPECT_THAT(result.err, HasSubstr("a whole number from 0 to 9007199254740992 is expected")) << count;
  }
  const SubprocessResult largest = Hunt({"--max-waits", "9007199254740992", "--from", spool_}, {});
  EXPECT_EQ(largest.exit_code, 0) << largest.err;
  EXPECT_THAT(largest.out, HasSubstr("9,007,199,254,740,992"));
}

TEST_F(HuntTest, ABadBudgetFileEndsBeforeTheRun) {
  const std::string script = Script("echo ran");
  const std::string bad = folder_.Write("bad.toml", "[[range]]\nname = \"step\"\nmax-wait = 0\n");
  const SubprocessResult result = Hunt({"--budget", bad}, {script});
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(result.err, HasSubstr("bad.toml', line 3: max-wait: unknown key; did you mean 'max-waits'?"));
  const SubprocessResult none = Hunt({"--budget", folder_.File("none.toml")}, {script});
  EXPECT_EQ(none.exit_code, 3);
  EXPECT_THAT(none.err, HasSubstr("error: reading the budget: opening '"));
  const SubprocessResult endless = Hunt({"--budget", "/dev/zero"}, {script});
  EXPECT_EQ(endless.exit_code, 3);
  EXPECT_THAT(endless.err, HasSubstr("reading '/dev/zero': it has more than 16777216 bytes"));
  stdin_text_ = "[[range]]\nmax-waits = 1000\n";
  EXPECT_EQ(Hunt({"--budget", "/dev/stdin", "--from", spool_}, {}).exit_code, 0) << "a pipe may be read";
  const std::string elsewhere = folder_.Write("other.toml", "[[range]]\nname = \"nowhere\"\nmax-waits = 0\n");
  const SubprocessResult unknown = Hunt({"--budget", elsewhere, "--from", spool_}, {});
  EXPECT_EQ(unknown.exit_code, 3);
  EXPECT_THAT(unknown.err, HasSubstr("nowhere"));
}

TEST_F(HuntTest, SarifAndJUnitCarryTheVerdict) {
  const std::string output = folder_.File("report");
  const std::vector<std::string> options = {"--max-waits", "0", "--from", spool_, "--output", output, "--format"};
  const auto formatted = [&](const std::string& format) {
    std::vector<std::string> all = options;
    all.push_back(format);
    EXPECT_EQ(Hunt(all, {}).exit_code, 1);
    return *ReadFile(output);
  };
  const nlohmann::json result = nlohmann::json::parse(formatted("sarif"))["runs"][0]["results"][0];
  EXPECT_EQ(result["level"], "error");
  EXPECT_THAT(std::string(result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]),
              HasSubstr("train.py"));
  EXPECT_THAT(formatted("junit"), HasSubstr("<failure type=\"exceeded\""));
  EXPECT_THAT(formatted("markdown"), HasSubstr("## Budget"));
  EXPECT_THAT(formatted("html"), HasSubstr("Budget exceeded"));
  EXPECT_EQ(Hunt({"--format", "junit", "--from", spool_}, {}).exit_code, 2);
}

TEST_F(HuntTest, ProcessesThatStillRunAreNamed) {
  for (const std::string recorded : {"RECORD\n", ""}) {
    const SubprocessResult result = Hunt({"--strict", "--output", folder_.File("report")},
                                         {Script(recorded + "setsid sleep 60 </dev/null >/dev/null 2>&1 &\necho $!")});
    ASSERT_NE(result.out, "");
    const int pid = std::stoi(result.out);
    EXPECT_THAT(result.err, HasSubstr("process " + std::to_string(pid) + " of the program still runs"));
    EXPECT_THAT(result.err, Not(HasSubstr("used neither")));
    EXPECT_EQ(result.exit_code, 5) << result.err;
    EXPECT_TRUE(HasSpools());
    EXPECT_EQ(kill(pid, SIGKILL), 0);
  }
}

TEST_F(HuntTest, OurOwnFailuresOnlyWarn) {
  const SubprocessResult damaged =
      Hunt({}, {Script("echo junk > $STALLHOUND_SPOOL_DIR/stallhound-999999999-1.spool; exit 7")});
  EXPECT_EQ(damaged.exit_code, 7);
  EXPECT_THAT(damaged.err, HasSubstr("the spools are kept: stallhound hunt --from"));
  EXPECT_TRUE(HasSpools());

  const SubprocessResult no_range = Hunt({"--range", "no-such-range"}, {Script("RECORD\nexit 7")});
  EXPECT_EQ(no_range.exit_code, 7);
  EXPECT_THAT(no_range.err, HasSubstr("no-such-range"));
  EXPECT_THAT(no_range.err, HasSubstr("capture: "));
  const SubprocessResult captures = RunSubprocess(StallhoundOptions(home_, {"captures"}));
  EXPECT_THAT(captures.out, HasSubstr("kept beside the capture "));
  EXPECT_THAT(captures.out, HasSubstr("no capture made: ")) << "of the damaged spool";

  environment_ = {{"STALLHOUND_HOME", folder_.Write("a-file", "x") + "/home"}};
  const SubprocessResult no_home = Hunt({}, {Script("echo $CUDA_INJECTION64_PATH; exit 7")});
  EXPECT_EQ(no_home.exit_code, 7);
  EXPECT_EQ(no_home.out, "\n");
  EXPECT_THAT(no_home.err, HasSubstr("runs without being recorded"));

  environment_ = {{"STALLHOUND_RECORDER", "/no/such.so"}};
  const SubprocessResult no_recorder = Hunt({}, {Script("exit 7")});
  EXPECT_EQ(no_recorder.exit_code, 7);
  EXPECT_THAT(no_recorder.err, HasSubstr("/no/such.so"));
}

TEST_F(HuntTest, SetsTheVariablesAndWarnsOfOthers) {
  environment_ = {{"CUDA_INJECTION64_PATH", "/opt/other/libtool.so"}};
  const SubprocessResult result = Hunt(
      {"--last", "2s"}, {Script("echo $CUDA_INJECTION64_PATH; echo $STALLHOUND_LAST_NS; echo $STALLHOUND_SPOOL_DIR")});
  EXPECT_THAT(result.out, HasSubstr("libstallhound_record.so\n2000000000\n/"));
  EXPECT_THAT(result.err, HasSubstr("CUDA_INJECTION64_PATH was '/opt/other/libtool.so'"));
  const SubprocessResult yielding = Hunt({"--yield-to-profiler"}, {Script("echo $CUDA_INJECTION64_PATH")});
  EXPECT_EQ(yielding.out, "/opt/other/libtool.so\n");
}

TEST_F(HuntTest, ReportsOnEarlierRecordings) {
  const SubprocessResult spools = Hunt({"--from", spool_}, {});
  EXPECT_EQ(spools.exit_code, 0) << spools.err;
  EXPECT_THAT(spools.out, HasSubstr("train.py"));
  ASSERT_EQ(Captures().size(), 1u);
  EXPECT_TRUE(std::filesystem::exists(spool_));
  const SubprocessResult capture = Hunt({"--from", Captures()[0], "--range", "step"}, {});
  EXPECT_EQ(capture.exit_code, 0) << capture.err;
  EXPECT_THAT(capture.out, HasSubstr("train.py"));
  EXPECT_THAT(capture.err, Not(HasSubstr("capture: ")));
  const SubprocessResult folder = Hunt({"--from", folder_.path()}, {});
  EXPECT_EQ(folder.exit_code, 0) << folder.err;
}

TEST_F(HuntTest, CommandsThatTakeNoSpoolSayWhatMakesItsCapture) {
  for (const std::string& path : {spool_, folder_.path()}) {
    for (const std::vector<std::string>& command : std::vector<std::vector<std::string>>{
             {"query", "SELECT 1", path}, {"import", path}, {"import", "--counts", path}}) {
      const SubprocessResult result = RunSubprocess(StallhoundOptions(home_, command));
      EXPECT_EQ(result.exit_code, 3) << command[0] << " " << path;
      EXPECT_THAT(result.err, HasSubstr("`stallhound hunt --from " + path + "` makes its capture")) << command[0];
    }
  }
}

TEST_F(HuntTest, OptionsOfARecordingDoNotGoWithAnEarlierOne) {
  const std::vector<std::vector<std::string>> given = {
      {"--mode", "light"},     {"--delay", "1s"},      {"--duration", "1s"},       {"--last", "1s"},
      {"--operators"},         {"--record-argv"},      {"--window-range", "step"}, {"--window-api"},
      {"--max-spool", "1GiB"}, {"--yield-to-profiler"}};
  for (std::vector<std::string> options : given) {
    const std::string name = options[0];
    options.insert(options.end(), {"--from", spool_});
    const SubprocessResult result = Hunt(options, {});
    EXPECT_EQ(result.exit_code, 2) << name;
    EXPECT_THAT(result.err, HasSubstr(name + ": with --from nothing is recorded")) << name;
  }
}

TEST_F(HuntTest, AReportOfEarlierRecordingsNeedsNoHome) {
  home_ = folder_.Write("a-file", "x");
  const SubprocessResult result = Hunt({"--from", spool_}, {});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("train.py"));
  EXPECT_THAT(result.err, HasSubstr("no capture was kept: "));
}

TEST_F(HuntTest, ExportSaysWhichFindingOfWhichRangeItTook) {
  const auto export_around = [&](const std::string& range) {
    std::vector<std::string> arguments = {"export", "--around", "1", "--output", folder_.File("trace"), spool_};
    if (!range.empty()) arguments.insert(arguments.end(), {"--range", range});
    return RunSubprocess(StallhoundOptions(home_, arguments));
  };
  const SubprocessResult whole = export_around("");
  EXPECT_EQ(whole.exit_code, 0) << whole.err;
  EXPECT_THAT(whole.err, HasSubstr("around #1 "));
  EXPECT_THAT(export_around("step").err, HasSubstr("around #1 "));
  const SubprocessResult no_range = export_around("none");
  EXPECT_EQ(no_range.exit_code, 3);
  EXPECT_THAT(no_range.err, HasSubstr("none"));
}

TEST_F(HuntTest, BadInputIs3) {
  const SubprocessResult benchmark =
      Hunt({"--from", folder_.Write("bench.json", R"({"context": {"date": "2026-01-01", "num_cpus": 2},
        "benchmarks": [{"name": "a", "run_type": "iteration", "iterations": 9, "real_time": 5.0, "cpu_time": 4.0,
                        "time_unit": "ns"}]})")},
           {});
  EXPECT_EQ(benchmark.exit_code, 3);
  EXPECT_THAT(benchmark.err, HasSubstr("benchmark results only"));
  EXPECT_EQ(Hunt({"--from", "/no/such/file"}, {}).exit_code, 3);
  std::filesystem::create_directories(folder_.File("empty"));
  EXPECT_EQ(Hunt({"--from", folder_.File("empty")}, {}).exit_code, 3);
  EXPECT_EQ(Hunt({"--from", folder_.Write("text", "hello")}, {}).exit_code, 3);
  EXPECT_EQ(Hunt({"--from", folder_.Write("bad.spool", "hello")}, {}).exit_code, 3);
  EXPECT_EQ(Hunt({"--from", spool_, "--range", "none"}, {}).exit_code, 3);
  EXPECT_EQ(Hunt({"--from", spool_, folder_.File("text")}, {}).exit_code, 3);
}

TEST_F(HuntTest, CtrlCWhileACaptureIsWrittenLeavesNoHalfOfOne) {
  stallhound::testing::TempDir other;
  capture::spool::GeneratedSpool large;
  large.kernel_count = 400'000;
  const std::string spool = capture::spool::GenerateSpool(other.path(), large);
  bool is_sent = false;  // a second one would end the process where it stands
  while_running_ = [&](pid_t pid, const std::string& out, const std::string&) {
    if (!is_sent && !out.empty()) is_sent = kill(pid, SIGINT) == 0;
  };
  // The report is printed before the capture is written.
  const SubprocessResult result = Hunt({"--from", spool}, {});
  EXPECT_TRUE(result.signal == SIGINT || result.exit_code == 0);
  if (!std::filesystem::exists(home_)) return;
  for (const auto& entry : std::filesystem::directory_iterator(home_)) {
    EXPECT_EQ(entry.path().extension(), ".stallhound") << entry.path();
  }
}

TEST_F(HuntTest, SaysWhyNothingWasRecorded) {
  const SubprocessResult plain = Hunt({}, {Script("true")});
  EXPECT_THAT(plain.err,
              HasSubstr("nothing was recorded: the program used neither CUDA nor NVTX, or it lost the recorder's "
                        "variables on the way (env -i, sudo), or could not write its recording"));
  EXPECT_FALSE(HasSpools());
  EXPECT_THAT(Hunt({}, {Script("exit 3")}).err, HasSubstr("ended with code 3 before it used CUDA"));

  environment_ = {{"STALLHOUND_DISABLE", "1"}};
  EXPECT_THAT(Hunt({}, {Script("true")}).err, HasSubstr("STALLHOUND_DISABLE is 1"));
  environment_ = {{"STALLHOUND_RECORDER", folder_.Write("broken.so", "not a library")}};
  EXPECT_THAT(Hunt({}, {Script("true")}).err, HasSubstr("the recorder does not load here"));
  environment_.clear();

  const std::vector<std::vector<std::string>> windows = {
      {"--window-range", "nosuch"}, {"--window-api"}, {"--delay", "1h"}, {"--duration", "1ns"}};
  for (const std::vector<std::string>& options : windows) {
    EXPECT_THAT(Hunt(options, {Script("true")}).err,
                HasSubstr("outside of what " + options[0] + (options.size() > 1 ? " " + options[1] : "") + " allow"));
  }

  folder_.Write("docker", "#!/bin/sh\n", 0755);
  EXPECT_THAT(Hunt({}, {folder_.File("docker")}).err, HasSubstr("docker starts the program where"));
  folder_.Write("sudo", "#!/bin/sh\n", 0755);
  EXPECT_THAT(Hunt({}, {folder_.File("sudo")}).err, HasSubstr("sudo clears the environment"));
  EXPECT_THAT(Hunt({}, {Script("chmod 500 $STALLHOUND_SPOOL_DIR; rmdir $STALLHOUND_SPOOL_DIR")}).err,
              HasSubstr("spool folder"));
}

TEST_F(HuntTest, WithoutAReportThatOfAnEarlierRunIsRemoved) {
  const std::string output = folder_.File("j.xml");
  const std::vector<std::string> options = {"--max-waits", "0", "--format", "junit", "--output", output};
  EXPECT_EQ(Hunt(options, {Script("RECORD")}).exit_code, 1);
  EXPECT_TRUE(std::filesystem::exists(output)) << "this run's own";
  EXPECT_EQ(Hunt(options, {Script("RECORD")}).exit_code, 1);
  EXPECT_TRUE(std::filesystem::exists(output)) << "written anew";
  const std::vector<std::vector<std::string>> programs = {{Script("true")},
                                                          {"no-such-program"},
                                                          {folder_.Write("junk.sh",
                                                                         "#!/bin/sh\necho junk > "
                                                                         "$STALLHOUND_SPOOL_DIR/stallhound-999999999-1"
                                                                         ".spool\n",
                                                                         0755)}};
  for (const std::vector<std::string>& program : programs) {
    folder_.Write("j.xml", "yesterday's");
    const SubprocessResult result = Hunt(options, program);
    EXPECT_NE(result.exit_code, 0) << program[0];
    EXPECT_THAT(result.err, HasSubstr("that of an earlier run is removed: '" + output + "'")) << program[0];
    EXPECT_FALSE(std::filesystem::exists(output)) << program[0];
  }
}

TEST_F(HuntTest, SaysThatAStaticProgramCannotBeRecorded) {
  EXPECT_THAT(Hunt({}, {stallhound::testing::DataPath("cli/testdata/static_program")}).err,
              HasSubstr("is linked statically"));
}

}  // namespace
}  // namespace stallhound::cli
