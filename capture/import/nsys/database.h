#pragma once

// An Nsight Systems SQLite export as a database: opened for reading only and as immutable (no journal is looked for, no
// lock is taken), with the tables and columns it really has. Exports differ by version and by what was traced, so every
// query is built from what is there. Not thread-safe.

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <sqlite3.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace stallhound::capture::nsys {

class Database;

// The rows of one query. `while (rows.Next()) {...}`, then status(). Columns are numbered as in the query.
class Rows {
 public:
  Rows(Rows&& other) noexcept;
  Rows& operator=(Rows&&) = delete;
  ~Rows();

  // False at the end or on an error. In a partial read damage is an end, noted in the database.
  bool Next();
  const absl::Status& status() const { return status_; }
  // Runs the query again with ?1 = `parameter`.
  void Restart(int64_t parameter);

  bool IsInt(int column) const { return sqlite3_column_type(statement_, column) == SQLITE_INTEGER; }
  std::optional<int64_t> MaybeInt(int column) const {
    // One look-up of the column: SQLite's typed accessors would each take their own. Nobody else uses the connection.
    sqlite3_value* value = sqlite3_column_value(statement_, column);
    if (sqlite3_value_type(value) != SQLITE_INTEGER) return std::nullopt;
    return sqlite3_value_int64(value);
  }
  // 0 where the value is no integer.
  int64_t Int(int column) const { return MaybeInt(column).value_or(0); }
  // A count, size or id: unknown if negative.
  std::optional<uint64_t> MaybeUnsigned(int column) const {
    const std::optional<int64_t> value = MaybeInt(column);
    return value && *value >= 0 ? std::optional(static_cast<uint64_t>(*value)) : std::nullopt;
  }
  // An id of 32 bits; 4294967295 is Nsight's "not applicable".
  std::optional<uint32_t> MaybeId(int column) const {
    const std::optional<int64_t> value = MaybeInt(column);
    return value && *value >= 0 && *value < 0xffffffff ? std::optional(static_cast<uint32_t>(*value)) : std::nullopt;
  }
  // Valid until the next row; nullopt where the value is no text.
  std::optional<std::string_view> MaybeText(int column) const;

 private:
  friend class Database;
  Rows(Database* database, sqlite3_stmt* statement, std::string table);

  Database* database_;
  sqlite3_stmt* statement_;
  std::string table_;
  int64_t row_count_ = 0;
  absl::Status status_;
};

class Database {
 public:
  // Errors: InvalidArgument (no SQLite database), DataLoss (shorter than its header says, unless `partial`; damaged).
  static absl::StatusOr<std::unique_ptr<Database>> Open(const std::filesystem::path& path, bool partial);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  const std::string& name() const { return name_; }
  bool Has(std::string_view table) const { return columns_.contains(table); }
  bool Has(std::string_view table, std::string_view column) const;
  // In the order of the table; empty if there is no such table.
  std::vector<std::string> Columns(std::string_view table) const;
  // True if `column` is the table's integer primary key: looked up in logarithmic time.
  bool IsKey(std::string_view table, std::string_view column) const;
  std::vector<std::string> Tables() const;

  // Reads `columns` of `table` in storage order, or as `tail` says ("ORDER BY ..."). A column that the table has not is
  // NULL in every row. Errors: NotFound (no such table), DataLoss.
  absl::StatusOr<Rows> Select(std::string_view table, std::span<const char* const> columns, std::string_view tail = "");
  absl::StatusOr<Rows> Select(std::string_view table, std::initializer_list<const char*> columns,
                              std::string_view tail = "") {
    return Select(table, std::span(columns.begin(), columns.size()), tail);
  }

  // A partial read has met damage.
  bool is_cut() const { return is_cut_; }

 private:
  friend class Rows;
  struct Column {
    std::string name;
    bool is_key;
  };

  Database() = default;
  absl::Status ReadSchema();
  absl::Status Error(std::string_view action, int code) const;

  std::string name_;
  sqlite3* handle_ = nullptr;
  bool partial_ = false;
  bool is_cut_ = false;
  int64_t file_bytes_ = 0;
  std::map<std::string, std::vector<Column>, std::less<>> columns_;
};

}  // namespace stallhound::capture::nsys
