#include "base/sqlite/sqlite.h"

#include <fmt/format.h>

#include "base/status_macros.h"

namespace stallhound {
namespace {

absl::StatusCode CodeOf(int result) {
  switch (result & 0xff) {
    case SQLITE_NOTADB:
      return absl::StatusCode::kInvalidArgument;
    case SQLITE_CORRUPT:
    case SQLITE_IOERR:
      return absl::StatusCode::kDataLoss;
    case SQLITE_FULL:
      return absl::StatusCode::kResourceExhausted;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return absl::StatusCode::kUnavailable;
    case SQLITE_CANTOPEN:
      return absl::StatusCode::kNotFound;
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
      return absl::StatusCode::kPermissionDenied;
    case SQLITE_INTERRUPT:
      return absl::StatusCode::kCancelled;
    default:
      return absl::StatusCode::kInvalidArgument;
  }
}

}  // namespace

absl::Status SqliteError(sqlite3* connection, std::string_view action, std::string_view object) {
  return absl::Status(CodeOf(sqlite3_extended_errcode(connection)),
                      fmt::format("{} {}: {}", action, object, sqlite3_errmsg(connection)));
}

absl::StatusOr<SqliteConnection> OpenSqlite(const std::string& path, int flags) {
  sqlite3* raw = nullptr;
  const int result = sqlite3_open_v2(path.c_str(), &raw, flags, nullptr);
  SqliteConnection connection(raw);
  if (result != SQLITE_OK) return SqliteError(raw, "opening", path);
  return connection;
}

absl::Status ExecuteSql(sqlite3* connection, const std::string& sql) {
  if (sqlite3_exec(connection, sql.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK) return absl::OkStatus();
  return SqliteError(connection, "running", sql.size() > 80 ? sql.substr(0, 80) + "..." : sql);
}

absl::StatusOr<SqliteStatement> PrepareSql(sqlite3* connection, std::string_view sql) {
  sqlite3_stmt* raw = nullptr;
  if (sqlite3_prepare_v2(connection, sql.data(), static_cast<int>(sql.size()), &raw, nullptr) != SQLITE_OK) {
    return SqliteError(connection, "preparing", sql);
  }
  return SqliteStatement(raw);
}

}  // namespace stallhound
