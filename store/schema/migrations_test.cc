#include "store/schema/migrations.h"

#include <gtest/gtest.h>

#include <regex>
#include <string>

#include "base/sqlite/sqlite.h"

namespace stallhound::store {
namespace {

TEST(Migrations, AreNumberedWithoutAGap) {
  int version = 0;
  for (const Migration& migration : Migrations()) {
    EXPECT_EQ(migration.version, ++version);
    EXPECT_EQ(std::stoi(std::string(migration.name.substr(0, 4))), version);
    EXPECT_EQ(migration.sha256.size(), 64u);
  }
  EXPECT_GT(version, 0);
}

// SQLite keeps a CREATE TABLE as written, comments included.
TEST(Migrations, StateTheUnitOfEveryColumn) {
  const SqliteConnection connection = OpenSqlite(":memory:", SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE).value();
  for (const Migration& migration : Migrations()) {
    ASSERT_TRUE(ExecuteSql(connection.get(), std::string(migration.sql)).ok());
  }
  const SqliteStatement columns =
      PrepareSql(
          connection.get(),
          "SELECT m.name, c.name, m.sql FROM sqlite_master m, pragma_table_info(m.name) c WHERE m.type = 'table'")
          .value();
  int column_count = 0;
  while (sqlite3_step(columns.get()) == SQLITE_ROW) {
    const auto text = [&](int i) {
      return std::string(reinterpret_cast<const char*>(sqlite3_column_text(columns.get(), i)));
    };
    const std::regex with_unit("\n  " + text(1) + " [^\n]*-- \\[[^\\]\n]+\\]");
    EXPECT_TRUE(std::regex_search(text(2), with_unit)) << text(0) << "." << text(1);
    EXPECT_TRUE(std::regex_match(text(1), std::regex("[a-z][a-z0-9_]*"))) << text(1);
    ++column_count;
  }
  EXPECT_GT(column_count, 100);
}

}  // namespace
}  // namespace stallhound::store
