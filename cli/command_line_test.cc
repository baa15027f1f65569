#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/sqlite/sqlite.h"
#include "base/testing/golden.h"
#include "base/testing/subprocess.h"
#include "base/testing/temp_dir.h"
#include "base/version.h"
#include "capture/file/capture_file.h"
#include "capture/testing/memory_capture.h"
#include "cli/home.h"
#include "cli/nightly/kept_builds.h"
#include "cli/testing/run_stallhound.h"
#include "store/history.h"

namespace stallhound::cli {
namespace {

using stallhound::testing::MatchesGolden;
using stallhound::testing::RunSubprocess;
using stallhound::testing::SubprocessOptions;
using stallhound::testing::SubprocessResult;
using ::testing::HasSubstr;
using ::testing::StartsWith;

struct Case {
  std::vector<std::string> arguments;
  const char* message;
};

class CommandLineTest : public ::testing::Test {
 protected:
  SubprocessResult Run(const std::vector<std::string>& arguments) {
    return RunSubprocess(StallhoundOptions(home_, arguments));
  }

  void ExpectUsageErrors(const std::vector<Case>& cases) {
    for (const Case& test : cases) {
      const SubprocessResult result = Run(test.arguments);
      EXPECT_EQ(result.exit_code, 2) << test.message;
      EXPECT_EQ(result.out, "") << test.message;
      EXPECT_THAT(result.err, HasSubstr(test.message));
      EXPECT_THAT(result.err, HasSubstr("stallhound: error: "));
    }
    EXPECT_FALSE(std::filesystem::exists(home_));
  }

  void AddCapture(const std::string& uuid, int64_t pid, capture::TableSet recorded = capture::AllTables()) {
    capture::MemoryCapture capture;
    capture.mutable_info().recorded = recorded;
    capture.mutable_info().uuid = uuid;
    capture.mutable_info().epoch_ns = epoch_ns_;
    capture::ProcessRow process;
    process.process_id = 1;
    process.pid = pid;
    process.name = capture.Intern("python");
    capture.Add(process);
    std::filesystem::create_directories(home_);
    const absl::Status written =
        capture::WriteCaptureFile(capture, home_ + "/20260101-000000-" + uuid + capture::kCaptureFileSuffix);
    ASSERT_TRUE(written.ok()) << written;
  }

  int64_t epoch_ns_ = int64_t{1'767'225'600} * 1'000'000'000;  // of captures that are added
  stallhound::testing::TempDir folder_;
  std::string home_ = folder_.File("home");
};

TEST_F(CommandLineTest, HelpOfEveryCommandHasExamples) {
  for (const char* command :
       {"ab", "baseline", "bench", "captures", "completion", "config", "counts", "doctor", "env", "explain", "export",
        "gate", "hunt", "import", "nightly", "prune", "query", "report", "runs"}) {
    const SubprocessResult result = Run({command, "--help"});
    EXPECT_EQ(result.exit_code, 0) << command;
    EXPECT_EQ(result.err, "") << command;
    EXPECT_THAT(result.out, HasSubstr("Examples:\n  "));
    EXPECT_TRUE(MatchesGolden(result.out, std::string("cli/testdata/help/") + command + ".txt"));
  }
}

TEST_F(CommandLineTest, TopHelpListsTheCommandsOnStdout) {
  const SubprocessResult result = Run({"--help"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.out, HasSubstr("hunt "));
  EXPECT_THAT(result.out, HasSubstr("Exit codes: 0 fine"));
  EXPECT_EQ(Run({"-h"}).out, result.out);
}

TEST_F(CommandLineTest, PrintsTheVersion) {
  EXPECT_EQ(Run({"--version"}).out, std::string("stallhound ") + kVersion + "\n");
}

TEST_F(CommandLineTest, UsageErrorsAre2AndSayWhatWasMeant) {
  const std::vector<Case> cases = {
      {{}, "which command?"},
      {{"hnt"}, "there is no command 'hnt'; did you mean 'hunt'?"},
      {{"zzzzzz"}, "there is no command 'zzzzzz' ("},
      {{"--verson"}, "unknown option '--verson'; did you mean '--version'?"},
      {{"hunt"}, "stallhound hunt -- COMMAND"},
      {{"hunt", "--mod", "light", "--", "true"}, "did you mean '--mode'?"},
      {{"hunt", "--mode", "heavy", "--", "true"}, "heavy not in {light,default,full}"},
      {{"hunt", "python", "train.py"}, "put -- before the program: stallhound hunt -- python"},
      {{"hunt", "--delay", "20", "--", "true"}, "--delay: reading the duration '20': the unit is missing"},
      {{"hunt", "--window-steps", "1-2", "--", "true"}, "--window-range"},
      {{"export", "--output", "x", "--around", "abc"}, "--around: 'abc' is no number of a finding"},
      {{"export", "--output", "x", "--around", "0"}, "--around: '0'"},
      {{"export", "--output", "x", "--around", ""}, "--around: ''"},
      {{"export", "--output", "x", "--around", "1", "--window", "abc"}, "--window: "},
      {{"export", "--output", "x", "--around", "1", "--window", "-5s"}, "--window: "},
      {{"export", "--output", "x", "--around", "1", "--window", "0"}, "--window: "},
      {{"export", "--output", "x", "--window", "5ms"}, "--around"},
      {{"hunt", "--output", "/no/such/folder/x", "--", "true"}, "--output: creating a file beside"},
      {{"hunt", "--kineto", "/no/such/folder/x", "--", "true"}, "--kineto: the program could not write the trace"},
      {{"hunt", "--kineto", "/", "--", "true"}, "--kineto: the program could not write the trace"},
      {{"hunt", "--from", "x", "--", "true"}, "not both"},
      {{"hunt", "--from", "x", "--exit-code", "program"}, "no program is run"},
      {{"hunt", "--max-waits", "-1", "--", "true"}, "--max-waits"},
      {{"hunt", "--max-recoverable-ratio", "2", "--", "true"}, "--max-recoverable-ratio"},
      {{"hunt", "--format", "junit", "--", "true"}, "limits of a budget"},
      {{"query"}, "required"},
      {{"query", "--format", "xml", "SELECT 1"}, "xml"},
      {{"prune"}, "what shall go?"},
      {{"prune", "--older-than", "soon"}, "--older-than"},
      {{"prune", "--keep", "-1"}, "--keep"},
      {{"doctor", "--", "true"}, "runs no program"},
      {{"captures", "extra"}, "'extra' was not expected"},
      {{"captures", "env"}, "'env' was not expected"},
  };
  ExpectUsageErrors(cases);
}

TEST_F(CommandLineTest, EmptyValuesAndNumbersOutOfRangeAreUsageErrors) {
  ExpectUsageErrors({
      {{"runs", "--limit", "0"}, "--limit: '0': a whole number from 1 on is expected"},
      {{"runs", "--limit", "99999999999999999999"}, "a whole number from 1 on is expected"},
      {{"counts", "--skip", "-1"}, "--skip: '-1': a whole number from 0 on is expected"},
      {{"bench", "--rounds", "1001"}, "--rounds: '1001': a whole number from 1 to 1000 is expected"},
      {{"gate", ""}, "run: '' is no value"},
      {{"gate", "--baseline", ""}, "--baseline: '' is no value"},
      {{"gate", "--baseline=", "3f2a"}, "--baseline: '' is no value"},
      {{"bench", "--filter", ""}, "--filter: "},
      {{"bench", "--binary", ""}, "--binary: '' is no value"},
      {{"bench", "--rounds", ""}, "--rounds: "},
      {{"report", "--output", ""}, "--output: '' is no value"},
      {{"counts", "--steps", ""}, "--steps: '' is no value"},
      {{"counts", "a", ""}, "capture: '' is no value"},
      {{"query", ""}, "sql: '' is no value"},
      {{"prune", "--older-than", ""}, "--older-than: '' is no value"},
      {{"hunt", "--range", "", "--", "true"}, "--range: '' is no value"},
  });
}

TEST_F(CommandLineTest, WhatStandsBehindACommandIsItsArgument) {
  const Case cases[] = {
      {{"config", "bench.rounds", "gate"}, "'gate' was not expected"},
      {{"config", "gate", "bench"}, "'bench' was not expected"},
      {{"explain", "captures"}, "there is no entry 'captures'"},
      {{"counts", "env"}, "finding the capture 'env'"},
      {{"export", "--output", folder_.File("x.csv"), "bench"}, "finding the capture 'bench'"},
      {{"export", "--output", folder_.File("x.csv"), "bench", "gate"}, "reading 'bench': several paths"},
      {{"report", "runs"}, "run 'runs'"},
      {{"gate", "runs"}, "run 'runs'"},
  };
  std::filesystem::create_directories(home_);
  ASSERT_TRUE(store::OpenHistory(HistoryPath(home_), {}).ok());
  for (const Case& test : cases) {
    const SubprocessResult result = Run(test.arguments);
    EXPECT_NE(result.exit_code, 0) << test.message;
    EXPECT_EQ(result.out, "") << test.message;
    EXPECT_THAT(result.err, HasSubstr(test.message));
  }
  EXPECT_THAT(Run({"config", "bench"}).out, HasSubstr("rounds = "));
  EXPECT_THAT(Run({"config", "--explain", "gate"}).out, StartsWith("gate.q\n  "));
}

TEST_F(CommandLineTest, AFullDiskBehindStdoutIsAnError) {
  SubprocessOptions options = StallhoundOptions(home_, {"--help"});
  options.argv = {"sh", "-c", "exec '" + options.argv[0] + "' --help > /dev/full"};
  const SubprocessResult result = RunSubprocess(options);
  EXPECT_EQ(result.exit_code, 4);
  EXPECT_THAT(result.err, HasSubstr("writing the output: No space left on device"));
}

TEST_F(CommandLineTest, EnvPrintsLinesThatAShellCanRead) {
  folder_.Write("it's/recorder.so", "");
  SubprocessOptions options = StallhoundOptions(home_, {"env", "--mode", "light", "--max-spool", "1MiB"});
  options.environment.back() = {"STALLHOUND_RECORDER", folder_.File("it's/recorder.so")};
  const SubprocessResult lines = RunSubprocess(options);
  EXPECT_EQ(lines.exit_code, 0) << lines.err;
  EXPECT_THAT(lines.err, HasSubstr("stallhound hunt --from " + home_ + "/spool/"));

  SubprocessOptions shell;
  shell.argv = {"sh", "-c", lines.out + "echo $CUDA_INJECTION64_PATH $STALLHOUND_MODE $STALLHOUND_MAX_SPOOL_BYTES"};
  EXPECT_EQ(RunSubprocess(shell).out, folder_.File("it's/recorder.so") + " light 1048576\n");

  options.argv.push_back("--json");
  const nlohmann::json json = nlohmann::json::parse(RunSubprocess(options).out);
  EXPECT_EQ(json["STALLHOUND_MODE"], "light");
  EXPECT_TRUE(std::filesystem::is_directory(json["STALLHOUND_SPOOL_DIR"].get<std::string>()));
}

TEST_F(CommandLineTest, AMissingRecorderIsTheEnvironments) {
  SubprocessOptions options = StallhoundOptions(home_, {"env"});
  options.environment.back() = {"STALLHOUND_RECORDER", "/no/such/recorder.so"};
  const SubprocessResult result = RunSubprocess(options);
  EXPECT_EQ(result.exit_code, 4);
  EXPECT_THAT(result.err, HasSubstr("STALLHOUND_RECORDER is '/no/such/recorder.so'"));
}

TEST_F(CommandLineTest, QueryPrintsTheNewestCapture) {
  AddCapture("aaaa0000-0000-4000-8000-000000000001", 41);
  EXPECT_EQ(Run({"query", "SELECT pid, name FROM v_process", "--format", "csv"}).out, "pid,name\n41,python\n");
  EXPECT_EQ(Run({"query", "SELECT 1 AS one", "aaaa"}).out, "one\n---\n  1\n");
  EXPECT_EQ(Run({"query", "SELECT pid FROM process", "--format", "json"}).out, "[{\"pid\":41}]\n");
}

TEST_F(CommandLineTest, QueryNamesTheTablesThatWereNotRecorded) {
  using capture::Table;
  AddCapture("aaaa0000", 41, ~capture::Tables({Table::kKernel, Table::kMemset}));
  AddCapture("bbbb0000", 42);
  const SubprocessResult both =
      Run({"query", "--format", "csv", "SELECT count(*), (SELECT count(*) FROM v_memset) FROM c1.kernel", "aaaa"});
  EXPECT_EQ(both.exit_code, 0);
  EXPECT_EQ(both.out, "count(*),(SELECT count(*) FROM v_memset)\n0,0\n");
  EXPECT_THAT(both.err, HasSubstr("c1 did not record kernel, memset: no rows there is unknown, not none\n"));
  EXPECT_EQ(Run({"query", "SELECT count(*) FROM process, copy", "aaaa"}).err, "");
  EXPECT_EQ(Run({"query", "SELECT count(*) FROM kernel", "bbbb"}).err, "");
}

TEST_F(CommandLineTest, QueryErrorsAreDataErrors) {
  EXPECT_EQ(Run({"query", "SELECT 1"}).exit_code, 3);
  AddCapture("aaaa0000-0000-4000-8000-000000000001", 41);
  for (const char* sql :
       {"SELEC", "DROP TABLE process", "ATTACH 'x' AS y", "PRAGMA user_version", "SELECT 1; SELECT 2"}) {
    const SubprocessResult result = Run({"query", sql});
    EXPECT_EQ(result.exit_code, 3) << sql;
    EXPECT_EQ(result.out, "") << sql;
  }
  EXPECT_EQ(Run({"query", "SELECT 1", "/no/such/file"}).exit_code, 3);
  EXPECT_EQ(Run({"query", "SELECT 1", folder_.Write("text", "no capture")}).exit_code, 3);
}

TEST_F(CommandLineTest, WhatCannotBeReadIsOneErrorForEveryCommand) {
  const bool is_root = geteuid() == 0;  // root reads every file
  const std::string denied = folder_.Write("denied", "x");
  const std::string in_denied = folder_.Write("folder/x", "x");
  chmod(denied.c_str(), 0);
  chmod(folder_.File("folder").c_str(), 0);
  for (const std::vector<std::string>& command : std::vector<std::vector<std::string>>{
           {"query", "SELECT 1"}, {"counts"}, {"hunt", "--from"}, {"export", "--output", folder_.File("out")}}) {
    const auto exit_code = [&](const std::string& path) {
      std::vector<std::string> arguments = command;
      arguments.push_back(path);
      return Run(arguments).exit_code;
    };
    EXPECT_EQ(exit_code(folder_.path()), 3) << command[0];
    EXPECT_EQ(exit_code(folder_.Write("empty", "")), 3) << command[0];
    EXPECT_EQ(exit_code(folder_.Write("text", "no capture")), 3) << command[0];
    EXPECT_EQ(exit_code(denied), is_root ? 3 : 4) << command[0];
    EXPECT_EQ(exit_code(in_denied), is_root ? 3 : 4) << command[0];
  }
  chmod(folder_.File("folder").c_str(), 0700);
}

TEST_F(CommandLineTest, ExplainPrintsAnEntryOrAll) {
  const SubprocessResult entry = Run({"explain", "one-hot"});
  EXPECT_EQ(entry.exit_code, 0) << entry.err;
  EXPECT_THAT(entry.out, StartsWith("one-hot: one_hot looks for the classes\n"));
  EXPECT_THAT(entry.out, HasSubstr("Before\n  y = F.one_hot(labels)\n"));
  EXPECT_THAT(entry.out, HasSubstr("After\n  y = F.one_hot(labels, num_classes=10)\n"));
  const SubprocessResult all = Run({"explain"});
  EXPECT_EQ(all.exit_code, 0) << all.err;
  EXPECT_THAT(all.out, StartsWith("allocator-growth  "));
  EXPECT_THAT(all.out, HasSubstr("  one_hot looks for the classes\n"));
}

TEST_F(CommandLineTest, ExplainNamesTheNearestEntries) {
  const SubprocessResult typo = Run({"explain", "uniqe"});
  EXPECT_EQ(typo.exit_code, 3);
  EXPECT_EQ(typo.out, "");
  EXPECT_THAT(typo.err, HasSubstr("there is no entry 'uniqe'; did you mean unique?"));
  EXPECT_THAT(Run({"explain", "clip-grad"}).err, HasSubstr("did you mean clip-grad-check or clip-grad-cpp?"));
  EXPECT_THAT(Run({"explain", "zzzzzzzz"}).err, HasSubstr("'stallhound explain' lists all"));
}

TEST_F(CommandLineTest, ConfigPrintsTheNearestFile) {
  const std::string path = folder_.Write("a/stallhound.toml", "[bench]\nrounds = 5\n");
  folder_.Write("a/b/x", "");
  SubprocessOptions options = StallhoundOptions(home_, {"config", "bench.rounds", "--format", "json"});
  options.argv[0] = std::filesystem::absolute(options.argv[0]);
  options.working_folder = folder_.File("a/b");
  const SubprocessResult result = RunSubprocess(options);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const nlohmann::json json = nlohmann::json::parse(result.out);
  ASSERT_EQ(json["values"].size(), 1u);
  EXPECT_EQ(json["values"][0]["value"], 5);
  EXPECT_EQ(json["values"][0]["line"], 2);
  EXPECT_TRUE(std::filesystem::equivalent(json["path"].get<std::string>(), path));
  EXPECT_THAT(Run({"config", "--explain", "gate.q"}).out, StartsWith("gate.q\n  "));
  EXPECT_EQ(Run({"config", "gate.qq"}).exit_code, 3);

  folder_.Write("a/stallhound.toml", "[bench]\nround = 5\n");
  const SubprocessResult unknown = RunSubprocess(options);
  EXPECT_EQ(unknown.exit_code, 3);
  EXPECT_THAT(unknown.err, HasSubstr("line 2: round: unknown key; did you mean 'rounds'?"));
}

TEST_F(CommandLineTest, CtrlCEndsAQueryBySignal) {
  AddCapture("aaaa0000-0000-4000-8000-000000000001", 41);
  SubprocessOptions options = StallhoundOptions(
      home_,
      {"query", "--format", "csv", "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n"});
  options.while_running = [](pid_t pid, const std::string& out, const std::string&) {
    if (!out.empty()) kill(pid, SIGINT);
  };
  const SubprocessResult result = RunSubprocess(options);
  EXPECT_EQ(result.signal, SIGINT);
  EXPECT_FALSE(result.timed_out);
}

TEST_F(CommandLineTest, AHomeThatCannotBeUsedIsTheEnvironments) {
  home_ = folder_.Write("a-file", "x");
  const std::string trace = folder_.Write("trace.json", R"({"schemaVersion": 1, "traceEvents": [{"ph": "X", "cat":
      "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 1, "dur": 1, "args": {}}]})");
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{{"env"},
                                             {"captures"},
                                             {"counts"},
                                             {"export", "--output", "x"},
                                             {"prune", "--keep", "1", "--yes"},
                                             {"import", trace}}) {
    const SubprocessResult result = Run(arguments);
    EXPECT_EQ(result.exit_code, 4) << arguments[0] << ": " << result.err;
    EXPECT_THAT(result.err, HasSubstr("STALLHOUND_HOME")) << arguments[0];
  }
}

TEST_F(CommandLineTest, CapturesListsWhatTheHomeHolds) {
  EXPECT_THAT(Run({"captures"}).err, HasSubstr("holds no captures"));
  AddCapture("aaaa0000-0000-4000-8000-000000000001", 41);
  folder_.Write("home/20260101-000000-damaged.stallhound", "not a database");
  folder_.Write("home/spool/20260101-000000-x/stallhound-999999999-a.spool", "12345");
  const SubprocessResult table = Run({"captures"});
  EXPECT_EQ(table.exit_code, 0) << table.err;
  EXPECT_THAT(table.out, HasSubstr("aaaa0000-0000  2026-01-01 00:00:00"));
  EXPECT_THAT(table.out, HasSubstr("python"));
  EXPECT_THAT(table.out, HasSubstr("/spool/20260101-000000-x"));
  const nlohmann::json json = nlohmann::json::parse(Run({"captures", "--json"}).out);
  ASSERT_EQ(json.size(), 3u);
  for (const auto& entry : json) {
    if (entry["uuid"] == "aaaa0000-0000-4000-8000-000000000001") {
      EXPECT_EQ(entry["programs"], nlohmann::json({"python"}));
      EXPECT_EQ(entry["sync_point_count"], 0);
    } else {
      EXPECT_TRUE(entry["sync_point_count"].is_null());
      EXPECT_FALSE(entry["problem"].is_null());
    }
  }
}

TEST_F(CommandLineTest, TheNewestCaptureIsTheOneRecordedLast) {
  AddCapture("aaaa0000", 41);
  epoch_ns_ -= int64_t{86'400} * 1'000'000'000;
  AddCapture("bbbb0000", 42);  // written last
  const nlohmann::json json = nlohmann::json::parse(Run({"captures", "--json"}).out);
  ASSERT_EQ(json.size(), 2u);
  EXPECT_EQ(json[0]["uuid"], "aaaa0000");
  EXPECT_EQ(Run({"query", "SELECT pid FROM process", "--format", "csv"}).out, "pid\n41\n");
  EXPECT_THAT(Run({"prune", "--keep", "1", "--dry-run"}).out, HasSubstr("bbbb0000"));
}

TEST_F(CommandLineTest, CapturesSaysWhatIsWrongWithAFile) {
  AddCapture("aaaa0000-0000-4000-8000-000000000001", 41);
  const std::string path = home_ + "/20260101-000000-aaaa0000-0000-4000-8000-000000000001.stallhound";
  {
    auto writer = OpenSqlite(path, SQLITE_OPEN_READWRITE);
    ASSERT_TRUE(ExecuteSql(writer->get(), "INSERT INTO loss VALUES (-1, 1, 0, 0, 1, NULL)").ok());
  }
  const SubprocessResult table = Run({"captures"});
  EXPECT_EQ(table.exit_code, 0) << table.err;
  EXPECT_THAT(table.out, HasSubstr("loss.counter is -1"));
  EXPECT_EQ(Run({"counts", path}).exit_code, 3);
}

TEST_F(CommandLineTest, PruneKeepsWhatItShould) {
  AddCapture("aaaa0000", 1);
  AddCapture("bbbb0000", 2);
  folder_.Write("home/spool/20260101-000000-x/stallhound-999999999-a.spool", "12345");
  const SubprocessResult refused = Run({"prune", "--keep", "1"});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, HasSubstr("--yes"));
  const SubprocessResult dry = Run({"prune", "--keep", "1", "--dry-run"});
  EXPECT_EQ(dry.exit_code, 0);
  EXPECT_THAT(dry.out, HasSubstr("0000.stallhound\n"));
  EXPECT_TRUE(std::filesystem::exists(home_ + "/20260101-000000-aaaa0000.stallhound"));

  const SubprocessResult pruned = Run({"prune", "--keep", "1", "--yes"});
  EXPECT_EQ(pruned.exit_code, 0);
  EXPECT_EQ(pruned.out, dry.out);
  EXPECT_TRUE(std::filesystem::exists(home_ + "/spool/20260101-000000-x"));
  EXPECT_THAT(Run({"prune", "--older-than", "1h", "--yes"}).out, HasSubstr("0000.stallhound\n"))
      << "recorded long ago, whenever it was written";
  EXPECT_EQ(Run({"prune", "--max-size", "0", "--yes"}).exit_code, 0);
  EXPECT_FALSE(std::filesystem::exists(home_ + "/spool/20260101-000000-x"));
  EXPECT_THAT(Run({"prune", "--max-size", "0", "--yes"}).err, HasSubstr("nothing to remove"));
}

TEST_F(CommandLineTest, PruneKeepsTheProgramsOfBaselines) {
  std::filesystem::create_directories(home_);
  auto history = store::OpenHistory(HistoryPath(home_), {});
  ASSERT_TRUE(history.ok()) << history.status();
  std::vector<std::string> programs;
  for (const std::string uuid : {"run-a", "run-b"}) {
    store::RunRecord run;
    run.info.uuid = uuid;
    run.info.machine = "m";
    run.info.producer = "test";
    ASSERT_TRUE((*history)->AppendRun(run).ok());
    absl::StatusOr<KeptBuild> kept = KeepBuild(home_, folder_.Write("bench", uuid, 0755));
    ASSERT_TRUE(kept.ok()) << kept.status();
    ASSERT_TRUE(AddRun(*kept, uuid).ok());
    programs.push_back(kept->folder);
  }
  ASSERT_TRUE((*history)->SetBaseline({"main", "run-a", 1, std::nullopt}).ok());
  EXPECT_EQ(Run({"prune", "--keep", "0", "--yes"}).out, "");
  {
    const absl::StatusOr<KeptBuild> measured = KeepBuild(home_, folder_.File("bench"));
    EXPECT_EQ(Run({"prune", "--older-than", "0", "--yes"}).out, "") << "it is being measured";
  }
  const SubprocessResult result = Run({"prune", "--older-than", "0", "--yes"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, programs[1] + "\n");
  EXPECT_THAT(result.err, HasSubstr("0 recordings and 1 kept program ("));
  EXPECT_TRUE(std::filesystem::exists(programs[0]));
  EXPECT_FALSE(std::filesystem::exists(programs[1]));
}

TEST_F(CommandLineTest, PruneLeavesWhatIsNotItsOwn) {
  const std::vector<std::string> others = {
      folder_.Write("home/a-name-of-the-users-own.stallhound", "x"),
      folder_.Write("home/20260101-000000-folder.stallhound/notes.txt", "x"),
      folder_.Write("home/spool/20260101-000000-x/notes.txt", "x"),
      folder_.Write("home/spool/notes/notes.txt", "x"),
      folder_.Write("home/20260101-000000-cccc.stallhound." + std::to_string(getpid()) + ".tmp", "being written"),
      folder_.Write("home/notes.999999999.tmp", "x"),
  };
  std::filesystem::create_symlink(others[0], home_ + "/20260101-000000-link.stallhound");
  const std::vector<std::string> own = {
      folder_.Write("home/spool/20260101-000000-x/stallhound-999999999-a.spool", "x"),
      folder_.Write("home/spool/20260101-000000-y/stallhound-999999999-a.spool", "x"),
      folder_.Write("home/20260101-000000-dddd.stallhound", "x"),
      folder_.Write("home/20260101-000000-dddd.stallhound.999999999.tmp", "left by a dead process"),
  };
  const SubprocessResult result = Run({"prune", "--max-size", "0", "--yes"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  for (const std::string& path : others) EXPECT_TRUE(std::filesystem::exists(path)) << path;
  EXPECT_TRUE(std::filesystem::is_symlink(home_ + "/20260101-000000-link.stallhound"));
  for (const std::string& path : own) EXPECT_FALSE(std::filesystem::exists(path)) << path;
  EXPECT_FALSE(std::filesystem::exists(home_ + "/spool/20260101-000000-y"));
}

TEST_F(CommandLineTest, DoctorSaysWhatBlocks) {
  SubprocessOptions options = StallhoundOptions(home_, {"doctor"});
  options.environment.back() = {"STALLHOUND_RECORDER", "/no/such/recorder.so"};
  const SubprocessResult text = RunSubprocess(options);
  EXPECT_EQ(text.exit_code, 4) << text.err;
  EXPECT_THAT(text.out, HasSubstr("blocked  the recorder does not load"));
  EXPECT_THAT(text.out, HasSubstr("can't be recorded here"));
  options.argv.push_back("--json");
  const SubprocessResult result = RunSubprocess(options);
  EXPECT_EQ(result.exit_code, 4);
  const nlohmann::json json = nlohmann::json::parse(result.out);
  EXPECT_EQ(json["can_record_gpu"], false);
  EXPECT_FALSE(json["findings"].empty());
  EXPECT_EQ(json["facts"]["probe_version"], 1);
}

}  // namespace
}  // namespace stallhound::cli
