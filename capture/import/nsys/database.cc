#include "capture/import/nsys/database.h"

#include <absl/strings/match.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <thread>
#include <utility>

#include "base/status_macros.h"

namespace stallhound::capture::nsys {
namespace {

constexpr size_t kHeaderBytes = 100;
constexpr int kMaxValueBytes = 16 << 20;  // of one text; real exports hold kernel names of some kilobytes

uint32_t BigEndian(const std::array<unsigned char, kHeaderBytes>& header, size_t offset, size_t size) {
  uint32_t value = 0;
  for (size_t i = 0; i < size; ++i) value = value << 8 | header[offset + i];
  return value;
}

// SQLite itself notices a cut only when it comes to a page that is not there, which may be never.
// True: the file is cut, and `partial` allows it.
absl::StatusOr<bool> IsCut(const std::filesystem::path& path, int64_t file_bytes, bool partial) {
  std::array<unsigned char, kHeaderBytes> header{};
  std::ifstream file(path, std::ios::binary);
  file.read(reinterpret_cast<char*>(header.data()), kHeaderBytes);
  constexpr std::string_view kMagic("SQLite format 3", 16);
  if (file.gcount() != kHeaderBytes ||
      std::string_view(reinterpret_cast<const char*>(header.data()), kMagic.size()) != kMagic) {
    return absl::InvalidArgumentError(fmt::format("reading '{}': it is not a database", path.filename().string()));
  }
  const uint32_t stored_page_bytes = BigEndian(header, 16, 2);
  const int64_t page_bytes = stored_page_bytes == 1 ? 65536 : stored_page_bytes;
  const bool page_count_is_valid = BigEndian(header, 24, 4) == BigEndian(header, 92, 4);
  const int64_t expected_bytes = page_bytes * BigEndian(header, 28, 4);
  const bool is_cut = page_count_is_valid && file_bytes < expected_bytes;
  if (is_cut && !partial) {
    return absl::DataLossError(
        fmt::format("reading '{}': the database is truncated: {} of {} bytes are there (hint: `stallhound import "
                    "--partial` reads what is left)",
                    path.filename().string(), file_bytes, expected_bytes));
  }
  return is_cut;
}

std::string Quoted(std::string_view identifier) {
  std::string quoted = "\"";
  for (char c : identifier) quoted.append(c == '"' ? 2 : 1, c);
  return quoted + '"';
}

std::string Uri(const std::filesystem::path& path) {
  std::string uri = "file:";
  for (unsigned char c : std::filesystem::absolute(path).string()) {
    const bool is_plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '/' ||
                          c == '.' || c == '_' || c == '-';
    uri += is_plain ? std::string(1, static_cast<char>(c)) : fmt::format("%{:02X}", c);
  }
  return uri + "?immutable=1";
}

// A query read by one thread, in whatever order it says.
class Cursor : public RowSource {
 public:
  explicit Cursor(SqliteStatement statement) : statement_(std::move(statement)) {}

  RowSpan Next() override {
    constexpr size_t kRows = 256;
    // The rows before an error are given out, and then the error.
    if (block_.code == SQLITE_ROW) {
      block_.Fill(statement_.get(), kRows);
    } else {
      block_.row_count = 0;
    }
    return {&block_, 0, block_.row_count};
  }

 private:
  SqliteStatement statement_;
  RowBlock block_;
};

bool IsDamage(int code) { return (code & 0xff) == SQLITE_CORRUPT || (code & 0xff) == SQLITE_IOERR; }

}  // namespace

bool Rows::NextSpan() {
  if (is_at_end_) return false;
  const RowSpan span = source_->Next();
  int code = span.block->code;
  row_count_ += static_cast<int64_t>(span.count);
  // A row takes more than one byte, so only pages that are linked twice can have more.
  const bool is_too_much = row_count_ > database_->file_bytes_;
  if (span.count > 0 && !is_too_much) {
    block_ = span.block;
    cells_ = block_->cells.data() + span.first * column_count_;
    kinds_ = block_->kinds.data() + span.first * column_count_;
    row_ = span.first;
    end_row_ = span.first + span.count;
    return true;
  }
  is_at_end_ = true;
  if (is_too_much) code = SQLITE_CORRUPT;
  if (code == SQLITE_DONE || database_->IsTolerated(code)) return false;
  status_ = database_->Error(fmt::format("reading row {} of table {}", row_count_ + 1, table_), code,
                             is_too_much ? "" : span.block->error);
  return false;
}

std::optional<std::string> TextLookup::Find(int64_t key) {
  sqlite3_reset(statement_.get());
  sqlite3_bind_int64(statement_.get(), 1, key);
  RowBlock block;
  block.Fill(statement_.get(), 1);
  database_->IsTolerated(block.code);
  if (block.row_count == 0 || block.kinds[0] != CellKind::kText) return std::nullopt;
  return std::string(block.Text(block.cells[0]));
}

absl::StatusOr<std::unique_ptr<Database>> Database::Open(const std::filesystem::path& path, bool partial) {
  std::error_code error;
  const auto file_bytes = static_cast<int64_t>(std::filesystem::file_size(path, error));
  if (error) return absl::NotFoundError(fmt::format("opening '{}': {}", path.filename().string(), error.message()));
  SH_ASSIGN_OR_RETURN(const bool is_cut, IsCut(path, file_bytes, partial));

  auto database = std::unique_ptr<Database>(new Database());
  database->name_ = path.filename().string();
  database->uri_ = Uri(path);
  database->partial_ = partial;
  database->is_cut_ = is_cut;
  database->file_bytes_ = file_bytes;
  SH_ASSIGN_OR_RETURN(database->connection_, database->Connect());
  SH_RETURN_IF_ERROR(database->ReadSchema());
  return database;
}

absl::StatusOr<SqliteConnection> Database::Connect() const {
  sqlite3* raw = nullptr;
  const int code =
      sqlite3_open_v2(uri_.c_str(), &raw, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_URI, nullptr);
  SqliteConnection connection(raw);
  if (code != SQLITE_OK) return Error("opening it", code, raw != nullptr ? sqlite3_errmsg(raw) : "");
  // The file is foreign: nothing in its schema may run, and no value may ask for all memory.
  sqlite3_db_config(raw, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(raw, SQLITE_DBCONFIG_DEFENSIVE, partial_ ? 0 : 1, nullptr);
  // Nothing is written (the connection is read-only): with this SQLite opens a file that is shorter than its header
  // says.
  sqlite3_db_config(raw, SQLITE_DBCONFIG_WRITABLE_SCHEMA, partial_ ? 1 : 0, nullptr);
  sqlite3_limit(raw, SQLITE_LIMIT_LENGTH, kMaxValueBytes);
  return connection;
}

absl::Status Database::Error(std::string_view action, int code, std::string_view cause) const {
  const std::string text = fmt::format("reading the Nsight Systems export '{}': {}: {}", name_, action,
                                       cause.empty() ? sqlite3_errstr(code) : cause);
  return IsDamage(code) || (code & 0xff) == SQLITE_NOTADB ? absl::DataLossError(text) : absl::InternalError(text);
}

bool Database::IsTolerated(int code) {
  if (!partial_ || !IsDamage(code)) return false;
  is_cut_ = true;
  return true;
}

absl::Status Database::ReadSchema() {
  // Views and virtual tables are left out: an export has none, and they could run code of the file.
  constexpr char kSql[] =
      "SELECT m.name, p.name, p.type, p.pk, p.hidden, m.rootpage FROM sqlite_master m, pragma_table_xinfo(m.name) p "
      "WHERE m.type = 'table' AND m.rootpage > 0 ORDER BY m.name, p.cid";
  SH_ASSIGN_OR_RETURN(SqliteStatement statement, Prepare(kSql, "reading its schema"));
  Rows rows(this, std::make_unique<Cursor>(std::move(statement)), 6, "sqlite_master");
  while (rows.Next()) {
    const std::optional<std::string_view> table = rows.MaybeText(0);
    const std::optional<std::string_view> column = rows.MaybeText(1);
    if (!table || !column) continue;
    TableSchema& schema = tables_[std::string(*table)];
    schema.root_page = rows.MaybeId(5).value_or(0);
    if (rows.Int(4) != 0) {
      schema.has_generated_columns = true;
    } else {
      schema.columns.push_back({std::string(*column), std::string(rows.MaybeText(2).value_or("")), rows.Int(3) > 0});
    }
  }
  return rows.status();
}

absl::StatusOr<SqliteStatement> Database::Prepare(const std::string& sql, std::string_view action) const {
  sqlite3_stmt* raw = nullptr;
  const int code = sqlite3_prepare_v2(connection_.get(), sql.c_str(), -1, &raw, nullptr);
  if (code != SQLITE_OK) return Error(action, code, sqlite3_errmsg(connection_.get()));
  return SqliteStatement(raw);
}

bool Database::Has(std::string_view table, std::string_view column) const {
  const auto it = tables_.find(table);
  return it != tables_.end() && it->second.Find(column) != nullptr;
}

bool Database::IsKey(std::string_view table, std::string_view column) const {
  const auto it = tables_.find(table);
  return it != tables_.end() && it->second.IsKey(column);
}

std::vector<std::string> Database::Columns(std::string_view table) const {
  std::vector<std::string> names;
  if (const auto it = tables_.find(table); it != tables_.end()) {
    for (const Column& column : it->second.columns) names.push_back(column.name);
  }
  return names;
}

std::vector<std::string> Database::Tables() const {
  std::vector<std::string> names;
  for (const auto& [name, schema] : tables_) names.push_back(name);
  return names;
}

std::optional<RowidRange> Database::Rowids(std::string_view table) const {
  // A partial read wants all rows before the damage, in whatever page it is.
  if (partial_) return std::nullopt;
  for (const Column& column : tables_.find(table)->second.columns) {
    if (absl::EqualsIgnoreCase(column.name, kRowid)) return std::nullopt;
  }
  const std::string sql =
      fmt::format("SELECT (SELECT min(rowid) FROM {0}), (SELECT max(rowid) FROM {0})", Quoted(table));
  const absl::StatusOr<SqliteStatement> statement = Prepare(sql, "");
  if (!statement.ok()) return std::nullopt;  // a table without rowids
  RowBlock block;
  block.Fill(statement->get(), 1);
  if (block.row_count == 0 || block.kinds[0] != CellKind::kInteger) return std::nullopt;
  const RowidRange range = {block.cells[0], block.cells[1]};
  // Exports count their rows; a file with few rows far apart would be all gaps.
  const uint64_t size = static_cast<uint64_t>(range.last) - static_cast<uint64_t>(range.first);
  return size < static_cast<uint64_t>(file_bytes_) ? std::optional(range) : std::nullopt;
}

std::optional<std::vector<RowidRange>> Database::SortedRuns(std::string_view table,
                                                            std::span<const char* const> columns,
                                                            const RowFilter& filter, RowOrder order) {
  constexpr size_t kMaxRuns = 64;
  const auto [known, is_new] = sorted_runs_.try_emplace(std::string(table));
  if (!is_new) return known->second;
  std::vector<const char*> keys = {columns[0], columns[1], kRowid};
  if (filter.column != nullptr) keys.push_back(filter.column);
  absl::StatusOr<Rows> rows = Select(table, keys, filter);
  const std::optional<RowidRange> all = Rowids(table);
  if (!rows.ok() || !all) return std::nullopt;
  std::vector<RowidRange> runs = {*all};
  std::pair<int64_t, int64_t> last = {INT64_MIN, INT64_MAX};
  while (rows->Next()) {
    const std::pair<int64_t, int64_t> row = {rows->MaybeInt(0).value_or(INT64_MIN),
                                             rows->MaybeInt(1).value_or(INT64_MIN)};
    const bool is_tie_broken = order == RowOrder::kByStartLongestFirst && row.first == last.first;
    if (row.first < last.first || (is_tie_broken && row.second > last.second)) {
      const int64_t rowid = rows->Int(2);
      // Rowids are out of order only in damaged files.
      if (runs.size() == kMaxRuns || rowid <= runs.back().first || rowid > all->last) return std::nullopt;
      runs.back().last = rowid - 1;
      runs.push_back({rowid, all->last});
    }
    last = row;
  }
  if (rows->status().ok()) known->second = std::move(runs);
  return known->second;
}

absl::StatusOr<Rows> Database::Scan(ScanPlan plan, std::string_view table) {
  if (helpers_ == nullptr) {
    constexpr unsigned kMaxHelpers = 3;  // more would wait for the reader
    helpers_ = std::make_shared<Helpers>();
    for (unsigned i = 1; i < std::min(std::thread::hardware_concurrency(), kMaxHelpers + 1); ++i) {
      absl::StatusOr<SqliteConnection> helper = Connect();
      if (helper.ok()) helpers_->push_back(*std::move(helper));
    }
  }
  SH_ASSIGN_OR_RETURN(SqliteStatement statement, Prepare(plan.sql, fmt::format("preparing to read table {}", table)));
  const size_t column_count = plan.column_count;
  const bool is_free = helpers_.use_count() == 1;  // no other scan uses them
  auto scan = std::make_unique<TableScan>(std::move(plan), std::move(statement), is_free ? helpers_ : nullptr);
  return Rows(this, std::move(scan), column_count, std::string(table));
}

absl::StatusOr<Rows> Database::Select(std::string_view table, std::span<const char* const> columns,
                                      const RowFilter& filter, RowOrder order) {
  if (!Has(table)) return absl::NotFoundError(fmt::format("reading '{}': it has no table {}", name_, table));
  std::string values;
  for (size_t i = 0; i < columns.size(); ++i) {
    if (i > 0) values += ", ";
    values += Has(table, columns[i]) || columns[i] == std::string_view(kRowid) ? Quoted(columns[i]) : "NULL";
  }
  // An index would give rows in its own order, and another order to another list of columns.
  std::string from = fmt::format(" FROM {} NOT INDEXED", Quoted(table));
  if (filter.column != nullptr) from += " WHERE " + filter.Sql();

  if (const std::optional<RowidRange> all = Rowids(table)) {
    std::optional<std::vector<RowidRange>> runs = std::vector{*all};
    if (order != RowOrder::kStorage) runs = SortedRuns(table, columns, filter, order);
    std::string sql =
        fmt::format("SELECT {}{} {} rowid BETWEEN ?1 AND ?2", values, from, filter.column == nullptr ? "WHERE" : "AND");
    std::optional<TableLayout> layout = LayoutOf(tables_.find(table)->second, columns, filter);
    if (runs) return Scan({std::move(sql), columns.size(), std::move(layout), *std::move(runs), order}, table);
  }
  const char* by = order == RowOrder::kStorage ? "" : order == RowOrder::kByStart ? "ORDER BY 1" : "ORDER BY 1, 2 DESC";
  SH_ASSIGN_OR_RETURN(SqliteStatement statement, Prepare(fmt::format("SELECT {}{} {}", values, from, by),
                                                         fmt::format("preparing to read table {}", table)));
  return Rows(this, std::make_unique<Cursor>(std::move(statement)), columns.size(), std::string(table));
}

absl::StatusOr<TextLookup> Database::SelectTexts(std::string_view table, const char* key, const char* column) {
  const std::string sql = fmt::format("SELECT {} FROM {} WHERE {} = ?1", Quoted(column), Quoted(table), Quoted(key));
  SH_ASSIGN_OR_RETURN(SqliteStatement statement, Prepare(sql, fmt::format("preparing to read table {}", table)));
  return TextLookup(this, std::move(statement));
}

}  // namespace stallhound::capture::nsys
