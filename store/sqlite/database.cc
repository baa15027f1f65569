#include "store/sqlite/database.h"

#include <errno.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <utility>

#include "base/file.h"
#include "base/status_macros.h"
#include "store/sqlite/file_system.h"
#include "store/sqlite/statement.h"

namespace stallhound::store {
namespace {

std::string FolderOf(const std::string& path) {
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  return folder.empty() ? "." : folder.string();
}

// Why the history cannot be written, or empty.
std::string ReadOnlyCause(const std::string& path) {
  if (access(path.c_str(), F_OK) == 0 && access(path.c_str(), W_OK) != 0) {
    return fmt::format("the file cannot be written ({})", strerror(errno));
  }
  // Beside the file lies its journal while a transaction runs.
  const std::string folder = FolderOf(path);
  if (access(folder.c_str(), W_OK | X_OK) != 0) {
    return fmt::format("its folder '{}' cannot be written ({})", folder, strerror(errno));
  }
  return "";
}

absl::Status ReadOnlyError(std::string_view action, const std::string& path, std::string_view cause) {
  return absl::PermissionDeniedError(fmt::format(
      "{} history '{}': {}; give write permission to it and its folder, or choose another by STALLHOUND_HOME", action,
      path, cause));
}

bool IsDiskFull(int system_error) { return system_error == ENOSPC || system_error == EDQUOT || system_error == EFBIG; }

absl::StatusOr<int64_t> ReadNumber(const Database& database, const std::string& sql) {
  SH_ASSIGN_OR_RETURN(Statement statement, Statement::Prepare(database, sql));
  int64_t number = 0;
  SH_RETURN_IF_ERROR(statement.ReadFirst(std::tuple<>(), std::tie(number)).status());
  return number;
}

absl::Status CheckIsHistory(const Database& database) {
  SH_ASSIGN_OR_RETURN(const int64_t id, ReadNumber(database, "PRAGMA application_id"));
  if (id == kHistoryApplicationId) return absl::OkStatus();
  return absl::InvalidArgumentError(fmt::format(
      "opening history '{}': it is an SQLite database of something else (application_id {:#x}, a history has {:#x})",
      database.path(), id, kHistoryApplicationId));
}

// Schema version `version` is known here, and was made by these migrations.
absl::Status CheckApplied(const Database& database, std::span<const Migration> migrations, int64_t version) {
  if (version > migrations.back().version) {
    return absl::FailedPreconditionError(fmt::format(
        "opening history '{}': its schema is version {}, this stallhound knows up to {}; use a newer stallhound",
        database.path(), version, migrations.back().version));
  }
  SH_ASSIGN_OR_RETURN(Statement applied,
                      Statement::Prepare(database, "SELECT sha256 FROM schema_migration WHERE version = ?"));
  for (const Migration& migration : migrations) {
    if (migration.version > version) break;
    std::string sha256 = "none";
    SH_RETURN_IF_ERROR(applied.ReadFirst(std::tie(migration.version), std::tie(sha256)).status());
    if (sha256 == migration.sha256) continue;
    return absl::FailedPreconditionError(
        fmt::format("opening history '{}': its schema was made by another {} (SHA-256 {}, here {}), so what its "
                    "columns mean is not "
                    "known; use the stallhound that made it",
                    database.path(), migration.name, sha256, migration.sha256));
  }
  return absl::OkStatus();
}

// The schema's version; 0 for a database of nobody yet, which a new file is, and one whose maker was killed.
absl::StatusOr<int64_t> CheckedVersion(const Database& database, std::span<const Migration> migrations) {
  SH_ASSIGN_OR_RETURN(const int64_t object_count, ReadNumber(database, "SELECT COUNT(*) FROM sqlite_master"));
  if (object_count == 0) return 0;
  SH_RETURN_IF_ERROR(CheckIsHistory(database));
  SH_ASSIGN_OR_RETURN(const int64_t version, ReadNumber(database, "PRAGMA user_version"));
  SH_RETURN_IF_ERROR(CheckApplied(database, migrations, version));
  return version;
}

// Under the writers' lock, because another process may have been quicker.
absl::Status Migrate(const Database& database, std::span<const Migration> migrations) {
  SH_ASSIGN_OR_RETURN(Transaction transaction, Transaction::Begin(database, Transaction::Kind::kWrite));
  SH_ASSIGN_OR_RETURN(const int64_t version, CheckedVersion(database, migrations));
  for (const Migration& migration : migrations) {
    if (migration.version <= version) continue;
    SH_RETURN_IF_ERROR(database.Execute(std::string(migration.sql)));
    SH_ASSIGN_OR_RETURN(Statement log, Statement::Prepare(database, "INSERT INTO schema_migration VALUES (?, ?, ?)"));
    SH_RETURN_IF_ERROR(log.Bind(std::tie(migration.version, migration.name, migration.sha256)));
    SH_RETURN_IF_ERROR(log.Step().status());
  }
  SH_RETURN_IF_ERROR(database.Execute(fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {}",
                                                  kHistoryApplicationId, migrations.back().version)));
  return transaction.Commit();
}

absl::Status CheckFileSystem(const Database::Request& request, std::vector<std::string>& warnings) {
  const FileSystemJudgement judgement = JudgeFileSystem(request.file_system_type);
  if (judgement.trust == LockTrust::kTrusted) return absl::OkStatus();
  const std::string finding =
      fmt::format("history '{}': it lies on {}: {}", request.path, judgement.name, judgement.reason);
  if (judgement.trust == LockTrust::kRefused && request.options.access == Access::kAppend) {
    return absl::FailedPreconditionError("opening " + finding + "; set STALLHOUND_HOME to a folder on a local disk");
  }
  warnings.push_back(finding);
  return absl::OkStatus();
}

}  // namespace

absl::Status Database::Error(std::string_view action) const {
  const std::string subject = fmt::format("{} history '{}'", action, path_);
  const char* message = sqlite3_errmsg(connection_.get());
  switch (sqlite3_errcode(connection_.get())) {
    case SQLITE_BUSY:
      return absl::UnavailableError(fmt::format(
          "{}: another process has been writing or reading it for more than {} ms ({}); nothing was changed, try again "
          "(`fuser {}` names it)",
          subject, lock_timeout_ms_, message, path_));
    case SQLITE_FULL:
      return absl::ResourceExhaustedError(
          fmt::format("{}: {}; nothing was changed, free space and try again", subject, message));
    case SQLITE_IOERR:
      if (const int system_error = sqlite3_system_errno(connection_.get()); IsDiskFull(system_error)) {
        return absl::ResourceExhaustedError(
            fmt::format("{}: {}; nothing was changed, free space and try again", subject, strerror(system_error)));
      }
      break;
    case SQLITE_READONLY:
    case SQLITE_CANTOPEN:
      if (const std::string cause = ReadOnlyCause(path_); !cause.empty()) return ReadOnlyError(action, path_, cause);
      break;
    case SQLITE_NOTADB:
      return absl::InvalidArgumentError(fmt::format("{}: it is not an SQLite database", subject));
    case SQLITE_CORRUPT:
      return absl::DataLossError(
          fmt::format("{}: it is damaged ({}); `sqlite3 '{}' .recover` saves what is whole", subject, message, path_));
    default:
      break;
  }
  return SqliteError(connection_.get(), action, fmt::format("history '{}'", path_));
}

absl::Status Database::Execute(const std::string& sql) const {
  if (sqlite3_exec(connection_.get(), sql.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK) return absl::OkStatus();
  return Error(fmt::format("running '{}' on", std::string_view(sql).substr(0, sql.find_first_of(";\n"))));
}

absl::StatusOr<Database> Database::Open(const Request& request) {
  const bool appends = request.options.access == Access::kAppend;
  std::vector<std::string> warnings;
  SH_RETURN_IF_ERROR(CheckFileSystem(request, warnings));
  if (!appends && access(request.path.c_str(), F_OK) != 0) {
    const int error = errno;
    if (error != ENOENT) return absl::ErrnoToStatus(error, fmt::format("reading history '{}'", request.path));
    return absl::NotFoundError(
        fmt::format("reading history '{}': {}; the first run that is kept makes it", request.path, strerror(error)));
  }
  if (appends) SH_RETURN_IF_ERROR(MakeFolders(FolderOf(request.path)));
  sqlite3* raw = nullptr;
  // A reader may have to roll back what a killed writer left; SQLite falls back to reading where it may not write.
  const int flags = SQLITE_OPEN_READWRITE | (appends ? SQLITE_OPEN_CREATE : 0);
  const int result = sqlite3_open_v2(request.path.c_str(), &raw, flags, nullptr);
  Database database(SqliteConnection(raw), request);
  database.warnings_ = std::move(warnings);
  if (result != SQLITE_OK) return database.Error("opening");
  if (appends && sqlite3_db_readonly(raw, "main") == 1) {
    return ReadOnlyError("opening", request.path, ReadOnlyCause(request.path));
  }
  sqlite3_busy_timeout(raw, request.options.lock_timeout_ms);
  // EXTRA syncs the folder too when a commit deletes the journal: else a power failure could bring the journal back,
  // and with it the state before the commit.
  SH_RETURN_IF_ERROR(
      database.Execute("PRAGMA synchronous = EXTRA; PRAGMA foreign_keys = 1; PRAGMA trusted_schema = 0"));
  if (!appends) SH_RETURN_IF_ERROR(database.Execute("PRAGMA query_only = 1"));
  SH_ASSIGN_OR_RETURN(const int64_t version, CheckedVersion(database, request.migrations));
  if (version == request.migrations.back().version) return database;
  if (!appends) {
    return absl::FailedPreconditionError(
        fmt::format("reading history '{}': its schema is version {}, this stallhound reads {}; anything that adds to "
                    "it upgrades it",
                    request.path, version, request.migrations.back().version));
  }
  SH_RETURN_IF_ERROR(Migrate(database, request.migrations));
  return database;
}

absl::StatusOr<Transaction> Transaction::Begin(const Database& database, Kind kind) {
  SH_RETURN_IF_ERROR(database.Execute(kind == Kind::kWrite ? "BEGIN IMMEDIATE" : "BEGIN"));
  return Transaction(database);
}

Transaction::~Transaction() {
  if (database_ == nullptr) return;
  sqlite3* connection = database_->connection();
  // After an I/O error SQLite has ended the transaction, but leaves the undoing to the next access.
  const char* end = sqlite3_get_autocommit(connection) != 0 ? "SELECT COUNT(*) FROM sqlite_master" : "ROLLBACK";
  sqlite3_exec(connection, end, nullptr, nullptr, nullptr);
}

absl::Status Transaction::Commit() {
  SH_RETURN_IF_ERROR(database_->Execute("COMMIT"));
  database_ = nullptr;
  return absl::OkStatus();
}

}  // namespace stallhound::store
