#include "capture/file/attach.h"

#include <absl/strings/ascii.h>
#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/sqlite/sqlite.h"
#include "base/status_macros.h"
#include "capture/file/table_sql.h"

namespace stallhound::capture {
namespace {

namespace fs = std::filesystem;

// A journal in use; SQLite overwrites the beginning of one that it is done with by zeros.
bool HoldsChanges(const std::string& path) {
  std::error_code error;
  if (!fs::is_regular_file(path, error)) return false;
  return std::ifstream(path, std::ios::binary).get() > 0;
}

absl::StatusOr<int64_t> ReadPragma(sqlite3* connection, const std::string& pragma, const std::string& path) {
  SH_ASSIGN_OR_RETURN(SqliteStatement statement, PrepareSql(connection, fmt::format("PRAGMA {}", pragma)));
  if (sqlite3_step(statement.get()) != SQLITE_ROW) return SqliteError(connection, "reading", path);
  return sqlite3_column_int64(statement.get(), 0);
}

}  // namespace

std::string FileUri(const std::string& path) {
  std::error_code error;
  const fs::path absolute = fs::absolute(path, error);
  std::string uri = "file:";
  for (const char c : error ? path : absolute.string()) {
    if (absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '/' || c == '.' || c == '-' || c == '_') {
      uri += c;
    } else {
      uri += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return uri;
}

absl::StatusOr<std::string> CaptureUri(const std::string& path) {
  if (access(path.c_str(), R_OK) != 0) return absl::ErrnoToStatus(errno, fmt::format("opening the capture '{}'", path));
  std::error_code error;
  // Opening a FIFO would wait for its writer.
  if (!fs::is_regular_file(path, error)) {
    return absl::FailedPreconditionError(fmt::format("opening the capture '{}': not a regular file", path));
  }
  for (const char* suffix : {"-wal", "-journal"}) {
    if (!HoldsChanges(path + suffix)) continue;
    return absl::FailedPreconditionError(
        fmt::format("opening the capture '{0}': another program changed it, and part of it is still in '{0}{1}'; fold "
                    "that in by `sqlite3 '{0}' 'PRAGMA journal_mode = DELETE'`",
                    path, suffix));
  }
  // Immutable: SQLite makes no -shm and no -wal, whatever the file's journal mode.
  return FileUri(path) + "?mode=ro&immutable=1";
}

absl::Status CheckCapture(sqlite3* connection, const std::string& schema, const std::string& path) {
  SH_ASSIGN_OR_RETURN(const int64_t application, ReadPragma(connection, schema + ".application_id", path));
  if (application != kCaptureApplicationId) {
    return absl::InvalidArgumentError(fmt::format(
        "opening {}: a SQLite database, but not a capture (application id {}); `stallhound import` reads other formats",
        path, application));
  }
  SH_ASSIGN_OR_RETURN(const int64_t version, ReadPragma(connection, schema + ".user_version", path));
  if (version <= kCaptureSchemaVersion) return absl::OkStatus();
  return absl::FailedPreconditionError(
      fmt::format("opening {}: schema version {} is newer than {}, the newest this stallhound reads; update stallhound",
                  path, version, kCaptureSchemaVersion));
}

}  // namespace stallhound::capture
