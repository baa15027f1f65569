#include "store/sqlite/statement.h"

#include "base/status_macros.h"

namespace stallhound::store {

absl::StatusOr<Statement> Statement::Prepare(const Database& database, const std::string& sql) {
  sqlite3_stmt* raw = nullptr;
  if (sqlite3_prepare_v2(database.connection(), sql.data(), static_cast<int>(sql.size()), &raw, nullptr) != SQLITE_OK) {
    return database.Error(fmt::format("preparing '{}' on", sql));
  }
  return Statement(database, SqliteStatement(raw));
}

absl::StatusOr<bool> Statement::Step() {
  const int result = sqlite3_step(statement_.get());
  if (result == SQLITE_ROW) return true;
  absl::Status failure;
  if (result != SQLITE_DONE) {
    failure = database_->Error(sqlite3_stmt_readonly(statement_.get()) != 0 ? "reading" : "writing to");
  }
  sqlite3_reset(statement_.get());
  if (!failure.ok()) return failure;
  return false;
}

}  // namespace stallhound::store
