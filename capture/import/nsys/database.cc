#include "capture/import/nsys/database.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>
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
    return absl::DataLossError(fmt::format(
        "reading '{}': the database is truncated: {} of {} bytes are there (hint: --partial reads what is left)",
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

bool IsDamage(int code) { return (code & 0xff) == SQLITE_CORRUPT || (code & 0xff) == SQLITE_IOERR; }

}  // namespace

Rows::Rows(Database* database, sqlite3_stmt* statement, std::string table)
    : database_(database), statement_(statement), table_(std::move(table)) {}

Rows::Rows(Rows&& other) noexcept
    : database_(other.database_),
      statement_(std::exchange(other.statement_, nullptr)),
      table_(std::move(other.table_)),
      row_count_(other.row_count_),
      status_(std::move(other.status_)) {}

Rows::~Rows() { sqlite3_finalize(statement_); }

bool Rows::Next() {
  if (!status_.ok()) return false;
  int code = sqlite3_step(statement_);
  // A row takes more than one byte, so only pages that are linked twice can have more.
  if (code == SQLITE_ROW && ++row_count_ > database_->file_bytes_) code = SQLITE_CORRUPT;
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  if (database_->partial_ && IsDamage(code)) {
    database_->is_cut_ = true;
    return false;
  }
  status_ = database_->Error(fmt::format("reading row {} of table {}", row_count_ + 1, table_), code);
  return false;
}

void Rows::Restart(int64_t parameter) {
  sqlite3_reset(statement_);
  sqlite3_bind_int64(statement_, 1, parameter);
  row_count_ = 0;
  status_ = absl::OkStatus();
}

std::optional<std::string_view> Rows::MaybeText(int column) const {
  if (sqlite3_column_type(statement_, column) != SQLITE_TEXT) return std::nullopt;
  const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
  if (text == nullptr) return std::nullopt;
  return std::string_view(text, static_cast<size_t>(sqlite3_column_bytes(statement_, column)));
}

absl::StatusOr<std::unique_ptr<Database>> Database::Open(const std::filesystem::path& path, bool partial) {
  std::error_code error;
  const auto file_bytes = static_cast<int64_t>(std::filesystem::file_size(path, error));
  if (error) return absl::NotFoundError(fmt::format("opening '{}': {}", path.filename().string(), error.message()));
  SH_ASSIGN_OR_RETURN(const bool is_cut, IsCut(path, file_bytes, partial));

  auto database = std::unique_ptr<Database>(new Database());
  database->name_ = path.filename().string();
  database->partial_ = partial;
  database->is_cut_ = is_cut;
  database->file_bytes_ = file_bytes;
  const int code = sqlite3_open_v2(Uri(path).c_str(), &database->handle_,
                                   SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_URI, nullptr);
  if (code != SQLITE_OK) return database->Error("opening it", code);
  // The file is foreign: nothing in its schema may run, and no value may ask for all memory.
  sqlite3_db_config(database->handle_, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(database->handle_, SQLITE_DBCONFIG_DEFENSIVE, partial ? 0 : 1, nullptr);
  // Nothing is written (the connection is read-only): with this SQLite opens a file that is shorter than its header
  // says.
  sqlite3_db_config(database->handle_, SQLITE_DBCONFIG_WRITABLE_SCHEMA, partial ? 1 : 0, nullptr);
  sqlite3_limit(database->handle_, SQLITE_LIMIT_LENGTH, kMaxValueBytes);
  SH_RETURN_IF_ERROR(database->ReadSchema());
  return database;
}

Database::~Database() { sqlite3_close(handle_); }

absl::Status Database::Error(std::string_view action, int code) const {
  const std::string text = fmt::format(
      "reading the Nsight Systems export '{}': {}: {}", name_, action,
      handle_ != nullptr && sqlite3_errcode(handle_) == (code & 0xff) ? sqlite3_errmsg(handle_) : sqlite3_errstr(code));
  return IsDamage(code) || (code & 0xff) == SQLITE_NOTADB ? absl::DataLossError(text) : absl::InternalError(text);
}

absl::Status Database::ReadSchema() {
  // Views and virtual tables are left out: an export has none, and they could run code of the file.
  constexpr char kSql[] =
      "SELECT m.name, p.name, p.pk, p.type FROM sqlite_master m, pragma_table_info(m.name) p "
      "WHERE m.type = 'table' AND m.rootpage > 0 ORDER BY m.name, p.cid";
  sqlite3_stmt* statement = nullptr;
  if (const int code = sqlite3_prepare_v2(handle_, kSql, -1, &statement, nullptr); code != SQLITE_OK) {
    return Error("reading its schema", code);
  }
  Rows rows(this, statement, "sqlite_master");
  while (rows.Next()) {
    const std::optional<std::string_view> table = rows.MaybeText(0);
    const std::optional<std::string_view> column = rows.MaybeText(1);
    if (!table || !column) continue;
    const bool is_key = rows.Int(2) == 1 && rows.MaybeText(3) == "INTEGER";
    columns_[std::string(*table)].push_back({std::string(*column), is_key});
  }
  return rows.status();
}

bool Database::Has(std::string_view table, std::string_view column) const {
  const auto it = columns_.find(table);
  return it != columns_.end() &&
         std::any_of(it->second.begin(), it->second.end(), [&](const Column& c) { return c.name == column; });
}

bool Database::IsKey(std::string_view table, std::string_view column) const {
  const auto it = columns_.find(table);
  return it != columns_.end() && std::any_of(it->second.begin(), it->second.end(),
                                             [&](const Column& c) { return c.name == column && c.is_key; });
}

std::vector<std::string> Database::Columns(std::string_view table) const {
  std::vector<std::string> names;
  if (const auto it = columns_.find(table); it != columns_.end()) {
    for (const Column& column : it->second) names.push_back(column.name);
  }
  return names;
}

std::vector<std::string> Database::Tables() const {
  std::vector<std::string> names;
  for (const auto& [name, columns] : columns_) names.push_back(name);
  return names;
}

absl::StatusOr<Rows> Database::Select(std::string_view table, std::span<const char* const> columns,
                                      std::string_view tail) {
  if (!Has(table)) return absl::NotFoundError(fmt::format("reading '{}': it has no table {}", name_, table));
  std::string sql = "SELECT ";
  for (size_t i = 0; i < columns.size(); ++i) {
    if (i > 0) sql += ", ";
    sql += Has(table, columns[i]) ? Quoted(columns[i]) : "NULL";
  }
  // An index would give rows in its own order, and another order to another list of columns.
  sql += fmt::format(" FROM {} NOT INDEXED {}", Quoted(table), tail);
  sqlite3_stmt* statement = nullptr;
  const int code = sqlite3_prepare_v2(handle_, sql.c_str(), -1, &statement, nullptr);
  if (code != SQLITE_OK) return Error(fmt::format("preparing to read table {}", table), code);
  return Rows(this, statement, std::string(table));
}

}  // namespace stallhound::capture::nsys
