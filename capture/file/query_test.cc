#include "capture/file/query.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "base/file.h"
#include "base/sqlite/sqlite.h"
#include "base/testing/temp_dir.h"
#include "capture/file/capture_file.h"
#include "capture/testing/memory_capture.h"

namespace stallhound::capture {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class Collect : public QueryVisitor {
 public:
  absl::Status OnColumns(std::span<const std::string> names) override {
    columns.assign(names.begin(), names.end());
    return absl::OkStatus();
  }
  absl::Status OnRow(std::span<const QueryValue> values) override {
    std::string row;
    for (const QueryValue& value : values) {
      if (!row.empty()) row += "|";
      switch (value.kind) {
        case QueryValue::Kind::kNull:
          row += "NULL";
          break;
        case QueryValue::Kind::kInteger:
          row += fmt::format("{}", value.integer);
          break;
        case QueryValue::Kind::kReal:
          row += fmt::format("{}", value.real);
          break;
        case QueryValue::Kind::kText:
        case QueryValue::Kind::kBlob:
          row += value.text;
          break;
      }
    }
    rows.push_back(row);
    return rows.size() == row_limit ? absl::OutOfRangeError("enough") : absl::OkStatus();
  }

  std::vector<std::string> columns;
  std::vector<std::string> rows;
  size_t row_limit = SIZE_MAX;
};

class QueryTest : public ::testing::Test {
 protected:
  void SetUp() override {
    first_ = WriteProcess("first capture #1?.stallhound", 41);
    second_ = WriteProcess("second%20.stallhound", 42);
  }

  std::string WriteProcess(const std::string& name, int64_t pid) {
    MemoryCapture capture;
    capture.mutable_info().uuid = "00000000-0000-4000-8000-000000000001";
    ProcessRow process;
    process.process_id = 1;
    process.pid = pid;
    capture.Add(process);
    const absl::Status written = WriteCaptureFile(capture, folder_.File(name));
    EXPECT_TRUE(written.ok()) << written;
    return folder_.File(name);
  }

  absl::Status Run(const std::string& sql) {
    result_ = Collect();
    return RunQuery({sql, {first_, second_}, {}}, result_);
  }

  testing::TempDir folder_;
  std::string first_;
  std::string second_;
  Collect result_;
};

TEST_F(QueryTest, ReadsSeveralCaptures) {
  ASSERT_TRUE(
      Run("SELECT c1.process.pid AS a, c2.process.pid AS b FROM c1.process JOIN c2.process USING (process_id);").ok());
  EXPECT_THAT(result_.columns, ElementsAre("a", "b"));
  EXPECT_THAT(result_.rows, ElementsAre("41|42"));
  ASSERT_TRUE(Run("SELECT pid FROM process").ok());
  EXPECT_THAT(result_.rows, ElementsAre("41"));
  ASSERT_TRUE(Run("SELECT count(*) FROM v_process").ok());
  EXPECT_THAT(result_.rows, ElementsAre("1"));
}

TEST_F(QueryTest, ReadsADatabaseThatOthersWrite) {
  const std::string path = folder_.File("his#tory?.db");
  const SqliteConnection writer = OpenSqlite(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE).value();
  ASSERT_TRUE(ExecuteSql(writer.get(),
                         "CREATE TABLE process (pid); INSERT INTO process VALUES (7); CREATE TABLE run (name);"
                         "INSERT INTO run VALUES ('nightly'); CREATE VIEW v_pid AS SELECT pid FROM process")
                  .ok());
  QueryRequest request;
  request.database = QueryDatabase{path, "history", 50};
  const auto rows = [&](const std::string& sql) {
    request.sql = sql;
    result_ = Collect();
    const absl::Status status = RunQuery(request, result_);
    EXPECT_TRUE(status.ok()) << status;
    return result_.rows;
  };
  EXPECT_THAT(rows("SELECT name FROM run"), ElementsAre("nightly")) << "without any capture";
  request.captures = {first_};
  EXPECT_THAT(rows("SELECT run.name, process.pid FROM run, process"), ElementsAre("nightly|41"));
  EXPECT_THAT(rows("SELECT pid FROM history.process"), ElementsAre("7"));
  EXPECT_THAT(rows("SELECT pid FROM v_pid"), ElementsAre("7")) << "a view is of its own database";
  request.sql = "DELETE FROM history.run";
  EXPECT_EQ(RunQuery(request, result_).code(), absl::StatusCode::kInvalidArgument);

  ASSERT_TRUE(ExecuteSql(writer.get(), "BEGIN EXCLUSIVE").ok());
  request.sql = "SELECT name FROM history.run";
  EXPECT_EQ(RunQuery(request, result_).code(), absl::StatusCode::kUnavailable);
  ASSERT_TRUE(ExecuteSql(writer.get(), "COMMIT").ok());
  request.captures = std::vector<std::string>(kMaxQueryCaptures, first_);
  EXPECT_EQ(RunQuery(request, result_).code(), absl::StatusCode::kInvalidArgument);
  request.captures.pop_back();
  EXPECT_THAT(rows("SELECT name FROM history.run"), ElementsAre("nightly"));
}

TEST_F(QueryTest, GivesEveryTypeOfValue) {
  ASSERT_TRUE(
      Run("WITH x(a) AS (VALUES (1)) SELECT NULL, -9223372036854775808, 0.5, 'text', x'6869' FROM x -- why\n;").ok());
  EXPECT_THAT(result_.rows, ElementsAre("NULL|-9223372036854775808|0.5|text|hi"));
  EXPECT_TRUE(Run("EXPLAIN QUERY PLAN SELECT * FROM kernel").ok());
}

TEST_F(QueryTest, RefusesEverythingButReading) {
  const std::string before = *ReadFile(first_);
  const std::string other = folder_.File("other.db");
  for (const std::string& sql : {
           std::string("INSERT INTO process (process_id, pid) VALUES (2, 2)"),
           std::string("UPDATE process SET pid = 1"),
           std::string("DELETE FROM c2.process"),
           std::string("DROP TABLE process"),
           std::string("CREATE TABLE main.t (a)"),
           std::string("CREATE TEMP TABLE t (a)"),
           "ATTACH '" + other + "' AS x",
           std::string("DETACH c1"),
           std::string("PRAGMA query_only = 0"),
           std::string("PRAGMA table_info(process)"),
           std::string("SELECT * FROM pragma_table_info('process')"),
           std::string("BEGIN"),
           "VACUUM INTO '" + other + "'",
           std::string("REINDEX"),
           std::string("ANALYZE"),
           std::string("SELECT load_extension('/tmp/x.so')"),
           std::string("WITH x AS (SELECT 1) INSERT INTO process SELECT 2, 2 FROM x"),
       }) {
    EXPECT_FALSE(Run(sql).ok()) << sql;
    EXPECT_TRUE(result_.rows.empty()) << sql;
  }
  EXPECT_EQ(*ReadFile(first_), before);
  EXPECT_FALSE(std::filesystem::exists(other));
}

TEST_F(QueryTest, SaysWhyAWriteIsRefused) {
  const absl::Status status = Run("DELETE FROM process");
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("may only read"));
}

TEST_F(QueryTest, RefusesASecondStatement) {
  EXPECT_THAT(std::string(Run("SELECT 1; DELETE FROM process").message()), HasSubstr("one statement"));
  EXPECT_FALSE(Run("SELECT 1; SELECT 2").ok());
  EXPECT_TRUE(Run("SELECT 1; ; -- end").ok());
}

TEST_F(QueryTest, BadSqlAndBadFilesAreErrors) {
  EXPECT_THAT(std::string(Run("SELEC 1").message()), HasSubstr("syntax error"));
  EXPECT_THAT(std::string(Run("SELECT * FROM no_table").message()), HasSubstr("no such table"));
  EXPECT_FALSE(Run("").ok());
  EXPECT_FALSE(Run("-- nothing").ok());
  Collect result;
  EXPECT_EQ(RunQuery({"SELECT 1", {folder_.File("missing")}, {}}, result).code(), absl::StatusCode::kNotFound);
  const std::string text = folder_.Write("text", "hello");
  EXPECT_EQ(RunQuery({"SELECT 1", {text}, {}}, result).code(), absl::StatusCode::kInvalidArgument);
  const std::vector<std::string> many(kMaxQueryCaptures + 1, first_);
  EXPECT_EQ(RunQuery({"SELECT 1", many, {}}, result).code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(QueryTest, RefusesWhatTheReaderRefuses) {
  {
    auto writer = OpenSqlite(first_, SQLITE_OPEN_READWRITE);
    ASSERT_TRUE(ExecuteSql(writer->get(), "PRAGMA journal_mode = WAL; DELETE FROM process").ok());
    const absl::Status changed = Run("SELECT count(*) FROM process");
    EXPECT_EQ(changed.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_EQ(changed, OpenCaptureFile(first_).status());
  }
  ASSERT_TRUE(Run("SELECT count(*) FROM process").ok());
  EXPECT_THAT(result_.rows, ElementsAre("0"));
  EXPECT_FALSE(std::filesystem::exists(first_ + "-wal"));
  EXPECT_FALSE(std::filesystem::exists(first_ + "-shm"));
  {
    auto writer = OpenSqlite(second_, SQLITE_OPEN_READWRITE);
    ASSERT_TRUE(ExecuteSql(writer->get(), "PRAGMA user_version = 99").ok());
  }
  const absl::Status newer = Run("SELECT 1");
  EXPECT_THAT(std::string(newer.message()), HasSubstr("schema version 99 is newer"));
  EXPECT_EQ(newer, OpenCaptureFile(second_).status());
  second_ = folder_.File("fifo");
  ASSERT_EQ(mkfifo(second_.c_str(), 0600), 0);
  EXPECT_THAT(std::string(Run("SELECT 1").message()), HasSubstr("not a regular file"));
}

TEST_F(QueryTest, StopsWhenAskedAndWhenTheVisitorHasEnough) {
  const std::string endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) ";
  int asked_count = 0;
  Collect result;
  const absl::Status stopped =
      RunQuery({endless + "SELECT count(*) FROM n", {first_}, [&] { return ++asked_count == 3; }}, result);
  EXPECT_EQ(stopped.code(), absl::StatusCode::kCancelled);
  result.row_limit = 10;
  EXPECT_EQ(RunQuery({endless + "SELECT i FROM n", {first_}, {}}, result).code(), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(result.rows.size(), 10u);
}

TEST_F(QueryTest, BoundsItsMemory) {
  const absl::Status status =
      Run("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 10) "
          "SELECT group_concat(hex(zeroblob(30000000))) FROM n");
  EXPECT_FALSE(status.ok());
}

}  // namespace
}  // namespace stallhound::capture
