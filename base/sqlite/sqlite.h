#pragma once

// RAII over sqlite3: connections, statements, errors as absl::Status.

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <sqlite3.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace stallhound {

struct CloseConnection {
  void operator()(sqlite3* connection) const { sqlite3_close_v2(connection); }
};
struct FinalizeStatement {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
using SqliteConnection = std::unique_ptr<sqlite3, CloseConnection>;
using SqliteStatement = std::unique_ptr<sqlite3_stmt, FinalizeStatement>;

// The connection's last error: "<action> <object>: <sqlite's message>". SQLITE_FULL and I/O errors are
// ResourceExhausted and DataLoss, SQLITE_NOTADB InvalidArgument, SQLITE_BUSY Unavailable.
absl::Status SqliteError(sqlite3* connection, std::string_view action, std::string_view object);

// `flags` as for sqlite3_open_v2.
absl::StatusOr<SqliteConnection> OpenSqlite(const std::string& path, int flags);
absl::Status ExecuteSql(sqlite3* connection, const std::string& sql);
absl::StatusOr<SqliteStatement> PrepareSql(sqlite3* connection, std::string_view sql);

}  // namespace stallhound
