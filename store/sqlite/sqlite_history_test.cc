#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "base/sqlite/sqlite.h"
#include "base/testing/temp_dir.h"
#include "store/comparability.h"
#include "store/history.h"
#include "store/testing/test_runs.h"

namespace stallhound::store {
namespace {

using testing::BareRun;
using ::testing::ElementsAre;
using testing::FullRun;
using ::testing::HasSubstr;
using testing::RunUuid;

class HistoryTest : public ::testing::Test {
 protected:
  void SetUp() override {
    absl::StatusOr<std::unique_ptr<History>> history = OpenHistory(path_, {});
    ASSERT_TRUE(history.ok()) << history.status();
    history_ = *std::move(history);
  }

  void Append(const RunRecord& run) { ASSERT_EQ(*history_->AppendRun(run), AppendResult::kAppended); }

  // The rows of a query, columns joined by '|', NULL as "-".
  std::vector<std::string> Query(const std::string& sql) {
    const SqliteConnection connection = OpenSqlite(path_, SQLITE_OPEN_READONLY).value();
    const SqliteStatement statement = PrepareSql(connection.get(), sql).value();
    std::vector<std::string> rows;
    while (sqlite3_step(statement.get()) == SQLITE_ROW) {
      std::string& row = rows.emplace_back();
      for (int i = 0; i < sqlite3_column_count(statement.get()); ++i) {
        const unsigned char* text = sqlite3_column_text(statement.get(), i);
        row += (i == 0 ? "" : "|") + (text == nullptr ? "-" : std::string(reinterpret_cast<const char*>(text)));
      }
    }
    return rows;
  }
  int64_t RowCount() {
    int64_t count = 0;
    for (const std::string& table : Query("SELECT name FROM sqlite_master WHERE type = 'table'")) {
      count += std::stoll(Query("SELECT COUNT(*) FROM " + table).front());
    }
    return count;
  }

  testing::TempDir folder_;
  std::string path_ = folder_.File("history.db");
  std::unique_ptr<History> history_;
};

TEST_F(HistoryTest, GivesBackWhatWasAppended) {
  Append(FullRun(0));
  Append(FullRun(1));
  Append(BareRun("bare"));
  EXPECT_EQ(*history_->ReadRun(RunUuid(0)), FullRun(0));
  EXPECT_EQ(*history_->ReadRun(RunUuid(1)), FullRun(1));
  EXPECT_EQ(*history_->ReadRun("bare"), BareRun("bare"));
  SetUp();
  EXPECT_EQ(*history_->ReadRun(RunUuid(1)), FullRun(1)) << "opened again";
  EXPECT_EQ(history_->ReadRun("other").status().code(), absl::StatusCode::kNotFound);
}

TEST_F(HistoryTest, AppendsARunOnce) {
  RunRecord shuffled = FullRun(0);
  std::swap(shuffled.benchmarks[0], shuffled.benchmarks[1]);
  std::swap(shuffled.benchmarks[0].event_counts[0], shuffled.benchmarks[0].event_counts[1]);
  Append(shuffled);
  const int64_t row_count = RowCount();
  EXPECT_EQ(*history_->AppendRun(FullRun(0)), AppendResult::kAlreadyThere);
  EXPECT_EQ(*history_->AppendRun(shuffled), AppendResult::kAlreadyThere);
  RunRecord other = FullRun(0);
  other.benchmarks[1].points[0].median = 7;
  const absl::Status status = history_->AppendRun(other).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kAlreadyExists) << status;
  EXPECT_EQ(RowCount(), row_count);
  EXPECT_EQ(*history_->ReadRun(RunUuid(0)), FullRun(0));
}

TEST_F(HistoryTest, SharesWhatRunsHaveInCommon) {
  Append(FullRun(0));
  Append(FullRun(2));
  Append(FullRun(1));
  EXPECT_THAT(Query("SELECT (SELECT COUNT(*) FROM hardware), (SELECT COUNT(*) FROM environment), "
                    "(SELECT COUNT(*) FROM comparability), (SELECT COUNT(*) FROM benchmark), "
                    "(SELECT COUNT(*) FROM series), (SELECT COUNT(*) FROM kernel)"),
              ElementsAre("1|2|2|2|8|2"));
}

TEST_F(HistoryTest, CompletesWhatIsKnownOfARevision) {
  RunRecord first = FullRun(0);
  const Revision full = *first.info.revision;
  first.info.revision = Revision{full.repository, full.sha};
  Append(first);
  RunRecord second = FullRun(1);
  second.info.revision = full;
  Append(second);
  EXPECT_EQ(history_->ReadRun(RunUuid(0))->info.revision, full);
  EXPECT_EQ(*history_->AppendRun(first), AppendResult::kAlreadyThere);
}

TEST_F(HistoryTest, RefusesWhatCannotBeKept) {
  Append(FullRun(0));
  const int64_t row_count = RowCount();
  const auto expect_refused = [&](const std::string& cause, const std::function<void(RunRecord&)>& spoil) {
    RunRecord run = FullRun(1);
    spoil(run);
    const absl::Status status = history_->AppendRun(run).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << cause << ": " << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(cause));
    EXPECT_EQ(RowCount(), row_count) << cause;
  };
  expect_refused("infinite or not a number", [](RunRecord& run) { run.benchmarks[1].points[0].mean = std::nan(""); });
  expect_refused("infinite or not a number", [](RunRecord& run) { run.benchmarks[1].points[0].minimum = INFINITY; });
  expect_refused("known there as (ns, time, lower",
                 [](RunRecord& run) { run.benchmarks[1].points[0].metric.unit = "us"; });
  expect_refused("SM clock is -1", [](RunRecord& run) { run.benchmarks[1].points[0].samples[0].sm_clock_hz = -1; });
  expect_refused("benchmark_run", [](RunRecord& run) { run.benchmarks.push_back(run.benchmarks[0]); });
  expect_refused("point", [](RunRecord& run) { run.benchmarks[0].points.push_back(run.benchmarks[0].points[0]); });
  expect_refused("event_count_key", [](RunRecord& run) {
    run.benchmarks[1].event_counts.push_back({EventKind::kGraphLaunch});
    run.benchmarks[1].event_counts.push_back({EventKind::kGraphLaunch});
  });
  expect_refused("kernel_aggregate_key",
                 [](RunRecord& run) { run.benchmarks[1].kernels.push_back(run.benchmarks[1].kernels[2]); });
  expect_refused("no uuid", [](RunRecord& run) { run.info.uuid = ""; });
}

TEST_F(HistoryTest, ListsTheLastRuns) {
  EXPECT_TRUE(history_->LastRuns({})->empty());
  EXPECT_TRUE(absl::IsNotFound(history_->NewestRun().status()));
  for (const int number : {2, 0, 3, 1}) Append(FullRun(number));
  const auto uuids = [&](const RunFilter& filter) {
    std::vector<std::string> found;
    const std::vector<RunInfo> runs = history_->LastRuns(filter).value();
    for (const RunInfo& info : runs) found.push_back(info.uuid);
    return found;
  };
  EXPECT_THAT(uuids({}), ElementsAre(RunUuid(3), RunUuid(2), RunUuid(1), RunUuid(0)));
  EXPECT_THAT(uuids({.limit = 1}), ElementsAre(RunUuid(3)));
  EXPECT_THAT(uuids({.branch = "main"}), ElementsAre(RunUuid(2), RunUuid(0)));
  const RunInfo info = FullRun(1).info;
  EXPECT_THAT(uuids({.comparability_key = ComparabilityKey(info.hardware, info.environment)}),
              ElementsAre(RunUuid(3), RunUuid(1)));
  EXPECT_EQ(history_->LastRuns({.limit = 1})->front(), FullRun(3).info);
  EXPECT_EQ(*history_->NewestRun(), FullRun(1).info) << "added last, whatever the clock said";
}

TEST_F(HistoryTest, FindsARunByTheBeginningOfItsUuid) {
  Append(BareRun("abcd"));
  Append(BareRun("abcde-1"));
  Append(BareRun("abcde-2"));
  EXPECT_EQ(history_->FindRun("abcde-1")->uuid, "abcde-1");
  EXPECT_EQ(history_->FindRun("abcd")->uuid, "abcd") << "whole";
  EXPECT_EQ(history_->FindRun("abcde").status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(history_->FindRun("abc").status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(history_->FindRun("abc%").status().code(), absl::StatusCode::kNotFound);
}

TEST_F(HistoryTest, ReadsASeriesOverRuns) {
  for (const int number : {0, 1, 2}) Append(FullRun(number));
  const SeriesQuery query{"suite", "layer/1", "gpu_time_ns", {.branch = "main"}};
  const std::vector<SeriesPoint> points = history_->ReadSeries(query).value();
  ASSERT_EQ(points.size(), 2u);
  EXPECT_EQ(points[0].run_uuid, RunUuid(2));
  EXPECT_EQ(points[0].sha, FullRun(2).info.revision->sha);
  EXPECT_EQ(points[1].started_at_ns, FullRun(0).info.started_at_ns);
  EXPECT_EQ(points[1].point, FullRun(0).benchmarks[1].points[0]);
  EXPECT_TRUE(history_->ReadSeries({"suite", "layer/9", "gpu_time_ns", {}})->empty());
}

TEST_F(HistoryTest, KeepsJudgements) {
  Append(FullRun(0));
  Append(FullRun(1));
  const Judgement judgement{"judgement-1",
                            RunUuid(1),
                            {RunUuid(0)},
                            2,
                            500,
                            {{"suite", "layer/0", "gpu_time_ns", VerdictOutcome::kSuspect, "times: slower", 1.1, 1.05,
                              1.15, 0.01, 0.04, 0.0001, 1.02, 8, 9},
                             {"suite", "layer/gone", "wait", VerdictOutcome::kInconclusive, "missing: not measured"}}};
  EXPECT_EQ(*history_->AppendJudgement(judgement), AppendResult::kAppended);
  EXPECT_EQ(*history_->AppendJudgement(judgement), AppendResult::kAlreadyThere);
  Judgement later = judgement;
  later.judged_at_ns = 600;
  EXPECT_EQ(history_->AppendJudgement(later).status().code(), absl::StatusCode::kAlreadyExists);
  later.uuid = "judgement-2";
  EXPECT_EQ(*history_->AppendJudgement(later), AppendResult::kAppended);
  EXPECT_THAT(history_->ReadJudgements(RunUuid(1)).value(), ElementsAre(later, judgement));
  EXPECT_TRUE(history_->ReadJudgements(RunUuid(0))->empty());
  later.uuid = "judgement-3";
  later.baseline_run_uuids = {RunUuid(7)};
  const int64_t row_count = RowCount();
  EXPECT_EQ(history_->AppendJudgement(later).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(RowCount(), row_count);
}

TEST_F(HistoryTest, KeepsAcknowledgementsUntilTheyExpire) {
  const Acknowledgement first{"ack-1", "suite/layer*", "wait", "known driver bug", "issue 12", "ann", 100, 200, "abc"};
  const Acknowledgement second{"ack-2", "*", std::nullopt, "moving", std::nullopt, "you", 150, 300, std::nullopt};
  EXPECT_EQ(*history_->AppendAcknowledgement(first), AppendResult::kAppended);
  EXPECT_EQ(*history_->AppendAcknowledgement(first), AppendResult::kAlreadyThere);
  EXPECT_EQ(*history_->AppendAcknowledgement(second), AppendResult::kAppended);
  EXPECT_TRUE(history_->ActiveAcknowledgements(99)->empty());
  EXPECT_THAT(history_->ActiveAcknowledgements(150).value(), ElementsAre(first, second));
  EXPECT_THAT(history_->ActiveAcknowledgements(200).value(), ElementsAre(second));
}

TEST_F(HistoryTest, TakesTheNewestBaseline) {
  Append(FullRun(0));
  Append(FullRun(1));
  EXPECT_EQ(history_->FindBaseline("main").status().code(), absl::StatusCode::kNotFound);
  const Baseline second{"main", RunUuid(1), 20, "released"};
  EXPECT_TRUE(history_->SetBaseline({"main", RunUuid(0), 10, std::nullopt}).ok());
  EXPECT_TRUE(history_->SetBaseline({"topic", RunUuid(0), 15, std::nullopt}).ok());
  EXPECT_TRUE(history_->SetBaseline(second).ok());
  EXPECT_EQ(*history_->FindBaseline("main"), second);
  EXPECT_THAT(history_->ListBaselines().value(), ElementsAre(second, Baseline{"topic", RunUuid(0), 15, std::nullopt}));
  EXPECT_EQ(history_->SetBaseline({"main", RunUuid(2), 30, std::nullopt}).code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(*history_->FindBaseline("main"), second);
}

// The statement of README.md.
constexpr char kLastRunSql[] =
    "SELECT benchmark, kernel_count, wait_count, host_to_device_bytes FROM v_benchmark_count WHERE is_last_run";

TEST_F(HistoryTest, AnswersTheQuestionOfTheLastRunInOneStatement) {
  Append(FullRun(5));
  EXPECT_THAT(Query(kLastRunSql), ElementsAre("layer/0|4|8|4196", "layer/1|4|8|4196"));
  EXPECT_THAT(Query("SELECT kernel_count, memset_count, device_to_host_bytes, graph_launch_count, unstable_kind_count "
                    "FROM v_benchmark_count WHERE benchmark = 'layer/0'"),
              ElementsAre("4|-|0|-|1"))
      << "unstable and unrecorded have no number, none has 0";
  Append(FullRun(3));
  EXPECT_THAT(Query(kLastRunSql), ElementsAre("layer/0|4|8|4196", "layer/1|4|8|4196")) << "started before";
  RunRecord last = BareRun("last");
  last.info.started_at_ns = FullRun(6).info.started_at_ns;
  Append(last);
  EXPECT_THAT(Query(kLastRunSql), ElementsAre("layer/0|0|-|-"));
}

TEST_F(HistoryTest, ViewsNameThings) {
  Append(FullRun(5));
  EXPECT_THAT(Query("SELECT run_uuid, suite, benchmark, metric, unit, sample_count, gpu_name, is_last_run FROM v_point "
                    "WHERE metric = 'gpu_time_ns' AND benchmark = 'layer/0'"),
              ElementsAre(RunUuid(5) + "|suite|layer/0|gpu_time_ns|ns|4|NVIDIA H200|1"));
  EXPECT_THAT(Query("SELECT uuid, branch, repository, driver, is_last_run FROM v_run"),
              ElementsAre(RunUuid(5) + "|topic|stallhound|580.65.06|1"));
}

TEST_F(HistoryTest, OnlyReadsWhenOpenedForReading) {
  Append(FullRun(0));
  const std::unique_ptr<History> reader = OpenHistory(path_, {Access::kRead}).value();
  EXPECT_EQ(*reader->ReadRun(RunUuid(0)), FullRun(0));
  EXPECT_EQ(reader->AppendRun(FullRun(1)).status().code(), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(history_->LastRuns({})->size(), 1u);
}

}  // namespace
}  // namespace stallhound::store
