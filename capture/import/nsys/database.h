#pragma once

// An Nsight Systems SQLite export as a database: opened for reading only and as immutable (no journal is looked for, no
// lock is taken), with the tables and columns it really has. Exports differ by version and by what was traced, so every
// query is built from what is there. Not thread-safe.

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/sqlite/sqlite.h"
#include "capture/import/nsys/row_block.h"
#include "capture/import/nsys/table_layout.h"
#include "capture/import/nsys/table_scan.h"

namespace stallhound::capture::nsys {

class Database;

// The rows of one query. `while (rows.Next()) {...}`, then status(). Columns are numbered as in the query.
class Rows {
 public:
  // False at the end or on an error. In a partial read damage is an end, noted in the database.
  bool Next() {
    if (++row_ >= end_row_) return NextSpan();
    cells_ += column_count_;
    kinds_ += column_count_;
    return true;
  }
  const absl::Status& status() const { return status_; }

  bool IsInt(int column) const { return kinds_[column] == CellKind::kInteger; }
  // 0 where the value is no integer.
  int64_t Int(int column) const { return IsInt(column) ? cells_[column] : 0; }
  // Those with a place for the value are for loops over millions of rows: an optional that is returned is stored in two
  // parts and loaded as one, and the processor waits for that.
  std::optional<int64_t> MaybeInt(int column) const {
    return IsInt(column) ? std::optional(cells_[column]) : std::nullopt;
  }
  // A count, size or id: unknown if negative.
  void GetUnsigned(int column, std::optional<uint64_t>& value) const {
    if (IsInt(column) && cells_[column] >= 0) {
      value = static_cast<uint64_t>(cells_[column]);
    } else {
      value.reset();
    }
  }
  std::optional<uint64_t> MaybeUnsigned(int column) const {
    std::optional<uint64_t> value;
    GetUnsigned(column, value);
    return value;
  }
  // An id of 32 bits; 4294967295 is Nsight's "not applicable".
  void GetId(int column, std::optional<uint32_t>& value) const {
    if (IsInt(column) && cells_[column] >= 0 && cells_[column] < 0xffffffff) {
      value = static_cast<uint32_t>(cells_[column]);
    } else {
      value.reset();
    }
  }
  std::optional<uint32_t> MaybeId(int column) const {
    std::optional<uint32_t> value;
    GetId(column, value);
    return value;
  }
  // Valid until the next row; nullopt where the value is no text.
  std::optional<std::string_view> MaybeText(int column) const {
    return kinds_[column] == CellKind::kText ? std::optional(block_->Text(cells_[column])) : std::nullopt;
  }

 private:
  friend class Database;
  Rows(Database* database, std::unique_ptr<RowSource> source, size_t column_count, std::string table)
      : database_(database), source_(std::move(source)), column_count_(column_count), table_(std::move(table)) {}
  bool NextSpan();

  Database* database_;
  std::unique_ptr<RowSource> source_;
  const RowBlock* block_ = nullptr;
  const int64_t* cells_ = nullptr;  // of the row
  const CellKind* kinds_ = nullptr;
  size_t column_count_;
  size_t row_ = 0;  // in the block
  size_t end_row_ = 0;
  bool is_at_end_ = false;
  std::string table_;
  int64_t row_count_ = 0;
  absl::Status status_;
};

// Texts of a table by its key. Refers to the database.
class TextLookup {
 public:
  // nullopt: no such key, no text, or damage.
  std::optional<std::string> Find(int64_t key);

 private:
  friend class Database;
  TextLookup(Database* database, SqliteStatement statement) : database_(database), statement_(std::move(statement)) {}

  Database* database_;
  SqliteStatement statement_;
};

class Database {
 public:
  // Errors: InvalidArgument (no SQLite database), DataLoss (shorter than its header says, unless `partial`; damaged).
  static absl::StatusOr<std::unique_ptr<Database>> Open(const std::filesystem::path& path, bool partial);
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  const std::string& name() const { return name_; }
  bool Has(std::string_view table) const { return tables_.contains(table); }
  bool Has(std::string_view table, std::string_view column) const;
  // In the order of the table; empty if there is no such table.
  std::vector<std::string> Columns(std::string_view table) const;
  // True if `column` is the table's integer primary key: looked up in logarithmic time.
  bool IsKey(std::string_view table, std::string_view column) const;
  std::vector<std::string> Tables() const;

  // Reads `columns` of `table`, those rows that pass `filter`. A column that the
  // table has not is NULL in every row. Cost: one pass in storage order; in another order a pass more over two columns
  // where the table consists of few sorted runs, else a sort by SQLite. Errors: NotFound (no such table), DataLoss.
  absl::StatusOr<Rows> Select(std::string_view table, std::span<const char* const> columns,
                              const RowFilter& filter = {}, RowOrder order = RowOrder::kStorage);
  absl::StatusOr<Rows> Select(std::string_view table, std::initializer_list<const char*> columns,
                              const RowFilter& filter = {}, RowOrder order = RowOrder::kStorage) {
    return Select(table, std::span(columns.begin(), columns.size()), filter, order);
  }
  // The texts in `column` of a table by its `key`. Errors: those of Select.
  absl::StatusOr<TextLookup> SelectTexts(std::string_view table, const char* key, const char* column);

  // A partial read has met damage.
  bool is_cut() const { return is_cut_; }

 private:
  friend class Rows;
  friend class TextLookup;

  Database() = default;
  absl::StatusOr<SqliteConnection> Connect() const;
  absl::StatusOr<SqliteStatement> Prepare(const std::string& sql, std::string_view action) const;
  absl::Status ReadSchema();
  absl::Status Error(std::string_view action, int code, std::string_view cause) const;
  // Notes damage in a partial read.
  bool IsTolerated(int code);
  std::optional<RowidRange> Rowids(std::string_view table) const;
  // The fewest ranges of rowids in each of which the rows are in order; nullopt if there are many.
  std::optional<std::vector<RowidRange>> SortedRuns(std::string_view table, std::span<const char* const> columns,
                                                    const RowFilter& filter, RowOrder order);
  absl::StatusOr<Rows> Scan(ScanPlan plan, std::string_view table);

  std::string name_;
  std::string uri_;
  SqliteConnection connection_;
  std::shared_ptr<Helpers> helpers_;  // opened at the first scan
  bool partial_ = false;
  bool is_cut_ = false;
  int64_t file_bytes_ = 0;
  std::map<std::string, TableSchema, std::less<>> tables_;
  std::map<std::string, std::optional<std::vector<RowidRange>>, std::less<>> sorted_runs_;  // by table
};

}  // namespace stallhound::capture::nsys
