#pragma once

// The connection to a history file: opened with every precaution, its errors with cause and what to do, transactions.

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <sqlite3.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/sqlite/sqlite.h"
#include "store/history.h"
#include "store/schema/migrations.h"

namespace stallhound::store {

// PRAGMA application_id of a history: "SHhi".
inline constexpr int64_t kHistoryApplicationId = 0x53486869;

class Database {
 public:
  // Opens as OpenHistory says, and brings the schema up to the last of `migrations`. `file_system_type` is what
  // statfs(2) says of the file's folder.
  struct Request {
    std::string path;
    OpenOptions options;
    std::span<const Migration> migrations;
    int64_t file_system_type = 0;
  };
  static absl::StatusOr<Database> Open(const Request& request);

  sqlite3* connection() const { return connection_.get(); }
  const std::string& path() const { return path_; }
  const std::vector<std::string>& warnings() const { return warnings_; }

  // SQLite's last error, as "<action> history '<path>': <cause>; <hint>".
  absl::Status Error(std::string_view action) const;
  absl::Status Execute(const std::string& sql) const;

 private:
  Database(SqliteConnection connection, const Request& request)
      : connection_(std::move(connection)), path_(request.path), lock_timeout_ms_(request.options.lock_timeout_ms) {}

  SqliteConnection connection_;
  std::string path_;
  int lock_timeout_ms_;
  std::vector<std::string> warnings_;
};

// Rolled back at its end unless committed.
class Transaction {
 public:
  enum class Kind : uint8_t { kRead, kWrite };  // kWrite takes the writers' lock at once
  static absl::StatusOr<Transaction> Begin(const Database& database, Kind kind);
  Transaction(Transaction&& other) noexcept : database_(std::exchange(other.database_, nullptr)) {}
  Transaction& operator=(Transaction&&) = delete;
  ~Transaction();

  // On an error nothing of the transaction is kept.
  absl::Status Commit();

 private:
  explicit Transaction(const Database& database) : database_(&database) {}

  const Database* database_;
};

}  // namespace stallhound::store
