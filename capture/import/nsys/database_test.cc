#include "capture/import/nsys/database.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <fstream>

namespace stallhound::capture::nsys {
namespace {

using ::testing::HasSubstr;

struct Row {
  std::optional<int64_t> start, end;
  std::string text;
  friend bool operator==(const Row&, const Row&) = default;
};

// A database file written by SQL, and what is read from its table t (start, end, text).
class DatabaseTest : public ::testing::Test {
 protected:
  ~DatabaseTest() override { std::remove(path_.c_str()); }

  void Write(const std::string& sql) {
    std::remove(path_.c_str());
    const auto connection = OpenSqlite(path_, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
    ASSERT_TRUE(connection.ok()) << connection.status();
    const absl::Status status = ExecuteSql(connection->get(), sql);
    ASSERT_TRUE(status.ok()) << status;
  }

  // Table t with `count` rows; `start` and `end` are SQL of the row number n, from 1 on.
  void WriteRows(int count, const std::string& start, const std::string& end = "n", const std::string& more = "") {
    Write(
        fmt::format("CREATE TABLE t (start INTEGER, end INTEGER, text TEXT);"
                    "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < {}) "
                    "INSERT INTO t SELECT {}, {}, 'row ' || n FROM c; {}",
                    count, start, end, more));
  }

  std::vector<Row> Read(RowOrder order, const RowFilter& filter = {}) {
    const auto database = Database::Open(path_, false);
    EXPECT_TRUE(database.ok()) << database.status();
    auto rows = (*database)->Select("t", {"start", "end", "text"}, filter, order);
    EXPECT_TRUE(rows.ok()) << rows.status();
    std::vector<Row> result = All(*rows);
    status_ = rows->status();
    return result;
  }

  static std::vector<Row> All(Rows& rows) {
    std::vector<Row> result;
    while (rows.Next()) {
      result.push_back({rows.MaybeInt(0), rows.MaybeInt(1), std::string(rows.MaybeText(2).value_or("no text"))});
    }
    return result;
  }

  static std::vector<Row> Sorted(std::vector<Row> rows, RowOrder order) {
    std::stable_sort(rows.begin(), rows.end(), [&](const Row& a, const Row& b) {
      if (a.start != b.start || order == RowOrder::kByStart) return a.start < b.start;
      return a.end > b.end;
    });
    return rows;
  }

  const std::string path_ = ::testing::TempDir() + "/database_test.sqlite";
  absl::Status status_;
};

TEST_F(DatabaseTest, GivesAllRowsInStorageOrder) {
  WriteRows(30'000, "n * 3", "n * 3 + 2");
  const std::vector<Row> rows = Read(RowOrder::kStorage);
  ASSERT_EQ(rows.size(), 30'000u);
  for (int64_t i = 0; i < 30'000; ++i) {
    ASSERT_EQ(rows[i], (Row{3 * i + 3, 3 * i + 5, fmt::format("row {}", i + 1)}));
  }
}

TEST_F(DatabaseTest, GapsInTheRowidsAreNoEnd) {
  WriteRows(30'000, "n", "n", "DELETE FROM t WHERE start > 100 AND start < 25000;");
  const std::vector<Row> rows = Read(RowOrder::kStorage);
  ASSERT_EQ(rows.size(), 5'101u);
  EXPECT_EQ(rows[99].start, 100);
  EXPECT_EQ(rows[100].start, 25'000);
}

TEST_F(DatabaseTest, MergesSortedRuns) {
  // Three threads, one after the other; ties between them and inside.
  WriteRows(30'000, "n % 10000 / 2", "CASE WHEN n % 2 THEN 5 ELSE 9 END");
  const std::vector<Row> stored = Read(RowOrder::kStorage);
  EXPECT_EQ(Read(RowOrder::kByStart), Sorted(stored, RowOrder::kByStart));
  WriteRows(30'000, "n % 10000 / 2", "CASE WHEN n % 2 THEN 5 ELSE 9 END * (n / 10000 + 1)");
  EXPECT_EQ(Read(RowOrder::kByStartLongestFirst), Sorted(Read(RowOrder::kStorage), RowOrder::kByStartLongestFirst));
}

TEST_F(DatabaseTest, MergesRunsThatTakeTurns) {
  // 40 of them, row by row; the last ones are the shortest.
  WriteRows(30'000, "n % 750 * 40 + n / 750 % 7", "n / 750", "DELETE FROM t WHERE end > 30 AND start > 9000;");
  const std::vector<Row> stored = Read(RowOrder::kStorage);
  ASSERT_EQ(stored.size(), 25'276u);
  EXPECT_EQ(Read(RowOrder::kByStart), Sorted(stored, RowOrder::kByStart));
}

TEST_F(DatabaseTest, SortsWhatHasNoRuns) {
  WriteRows(30'000, "n * 7919 % 30011");
  EXPECT_EQ(Read(RowOrder::kByStart), Sorted(Read(RowOrder::kStorage), RowOrder::kByStart));
}

TEST_F(DatabaseTest, MergesOnlyTheRowsAskedFor) {
  WriteRows(30'000, "CASE WHEN n % 3 = 0 THEN -n ELSE n % 10000 END", "n % 3");
  constexpr int64_t kEnds[] = {1, 2};
  const RowFilter filter = {"end", kEnds};
  const std::vector<Row> rows = Read(RowOrder::kByStart, filter);
  EXPECT_EQ(rows.size(), 20'000u);
  EXPECT_EQ(rows, Sorted(Read(RowOrder::kStorage, filter), RowOrder::kByStart));
}

TEST_F(DatabaseTest, FiltersByPattern) {
  WriteRows(3'000, "n");
  const std::vector<Row> rows = Read(RowOrder::kStorage, {.column = "text", .pattern = "ROW 299%"});
  ASSERT_EQ(rows.size(), 11u);
  EXPECT_EQ(rows[0].start, 299);
}

TEST_F(DatabaseTest, RowsWithoutAStartComeFirst) {
  WriteRows(12'000, "CASE WHEN n = 6001 THEN NULL ELSE n % 6000 END");
  EXPECT_EQ(Read(RowOrder::kByStart), Sorted(Read(RowOrder::kStorage), RowOrder::kByStart));
}

TEST_F(DatabaseTest, ReadsTablesThatCannotBeSplit) {
  Write(
      "CREATE TABLE t (start INTEGER PRIMARY KEY, end INTEGER, text TEXT) WITHOUT ROWID;"
      "INSERT INTO t VALUES (2, 3, 'b'), (1, 9, 'a');");
  EXPECT_EQ(Read(RowOrder::kStorage), (std::vector<Row>{{1, 9, "a"}, {2, 3, "b"}}));
  Write(
      "CREATE TABLE t (start INTEGER, end INTEGER, text TEXT, RowId INTEGER);"
      "INSERT INTO t VALUES (2, 3, 'b', 7), (1, 9, 'a', 7);");
  EXPECT_EQ(Read(RowOrder::kStorage), (std::vector<Row>{{2, 3, "b"}, {1, 9, "a"}}));
  Write(
      "CREATE TABLE t (start INTEGER, end INTEGER, text TEXT);"
      "INSERT INTO t (rowid, start) VALUES (-9223372036854775808, 5), (9223372036854775807, 6);");
  EXPECT_EQ(Read(RowOrder::kByStart), (std::vector<Row>{{5, {}, "no text"}, {6, {}, "no text"}}));
}

TEST_F(DatabaseTest, ReadsIntegersOfAllSizes) {
  for (const char* pages : {"", "PRAGMA page_size = 512;", "PRAGMA page_size = 65536;", "PRAGMA auto_vacuum = 1;"}) {
    Write(
        fmt::format("{} CREATE TABLE t (start INTEGER, other BLOB, end INTEGER, text TEXT);"
                    "WITH RECURSIVE c(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM c WHERE n < 6300) "
                    "INSERT INTO t SELECT 1 << n / 100, zeroblob(n % 90), -(1 << n / 100), 'n' || n FROM c;",
                    pages));
    const std::vector<Row> rows = Read(RowOrder::kStorage);
    ASSERT_EQ(rows.size(), 6'301u) << pages;
    for (int64_t n = 0; n <= 6'300; ++n) {
      const auto power = static_cast<int64_t>(uint64_t{1} << n / 100);
      const auto negative = static_cast<int64_t>(-(uint64_t{1} << n / 100));
      // -(-2^63) is a real number in SQL.
      const auto end = n < 6'300 ? std::optional(negative) : std::nullopt;
      ASSERT_EQ(rows[n], (Row{power, end, fmt::format("n{}", n)})) << pages;
    }
  }
}

TEST_F(DatabaseTest, ReadsTablesWhosePagesDoNotTellAll) {
  // Values that the records lack, or hold in another form.
  WriteRows(3'000, "n", "n", "ALTER TABLE t DROP COLUMN end; ALTER TABLE t ADD COLUMN end INTEGER DEFAULT 7;");
  EXPECT_EQ(Read(RowOrder::kStorage)[2'999], (Row{3'000, 7, "row 3000"}));
  Write(
      "CREATE TABLE t (text TEXT, start INTEGER PRIMARY KEY, end REAL); INSERT INTO t VALUES ('a', 40, 3), ('b', 50, "
      "4);");
  EXPECT_EQ(Read(RowOrder::kStorage), (std::vector<Row>{{40, {}, "a"}, {50, {}, "b"}}));
  Write(
      "CREATE TABLE t (start INTEGER, sum INTEGER AS (start + end) VIRTUAL, end INTEGER, text TEXT);"
      "INSERT INTO t VALUES (1, 2, 'a'), (2, 3, 'b');");
  EXPECT_EQ(Read(RowOrder::kStorage), (std::vector<Row>{{1, 2, "a"}, {2, 3, "b"}}));
  Write(
      "PRAGMA encoding = 'UTF-16'; CREATE TABLE t (start INTEGER, end INTEGER, text TEXT);"
      "INSERT INTO t VALUES (1, 2, 'a'), (2, 3, 'b');");
  EXPECT_EQ(Read(RowOrder::kStorage), (std::vector<Row>{{1, 2, "a"}, {2, 3, "b"}}));
}

TEST_F(DatabaseTest, ReadsTextsLongerThanAPage) {
  WriteRows(3'000, "n", "n", "UPDATE t SET text = printf('%.*c', start * 4, 'x') WHERE start % 1000 = 0;");
  const std::vector<Row> rows = Read(RowOrder::kStorage);
  ASSERT_EQ(rows.size(), 3'000u);
  EXPECT_EQ(rows[998].text, "row 999");
  EXPECT_EQ(rows[999].text, std::string(4'000, 'x'));
  EXPECT_EQ(rows[2'999].text, std::string(12'000, 'x'));
}

TEST_F(DatabaseTest, TablesCanBeReadSideBySide) {
  WriteRows(30'000, "n");
  const auto database = Database::Open(path_, false);
  ASSERT_TRUE(database.ok()) << database.status();
  auto one = (*database)->Select("t", {"start", "end", "text"});
  auto other = (*database)->Select("t", {"start", "absent", "text"});
  ASSERT_TRUE(one.ok() && other.ok());
  for (int64_t n = 1; n <= 30'000; ++n) {
    ASSERT_TRUE(one->Next() && other->Next());
    ASSERT_EQ(one->Int(0), n);
    ASSERT_EQ(other->Int(0), n);
    ASSERT_FALSE(other->MaybeInt(1));
  }
  EXPECT_FALSE(one->Next() || other->Next());
}

TEST_F(DatabaseTest, DamageIsAnErrorAfterTheRowsBeforeIt) {
  WriteRows(30'000, "n");
  std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(4096 * 100);
  file << std::string(4096, '\xff');
  file.close();
  const std::vector<Row> rows = Read(RowOrder::kStorage);
  EXPECT_EQ(status_.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(status_.ToString(), HasSubstr("of table t"));
  ASSERT_GT(rows.size(), 1000u);
  ASSERT_LT(rows.size(), 30'000u);
  for (size_t i = 0; i < rows.size(); ++i) ASSERT_EQ(rows[i].start, static_cast<int64_t>(i) + 1);

  const auto partial = Database::Open(path_, true);
  ASSERT_TRUE(partial.ok()) << partial.status();
  auto some = (*partial)->Select("t", {"start", "end", "text"});
  ASSERT_TRUE(some.ok()) << some.status();
  EXPECT_EQ(All(*some), rows);
  EXPECT_TRUE(some->status().ok() && (*partial)->is_cut());
}

}  // namespace
}  // namespace stallhound::capture::nsys
