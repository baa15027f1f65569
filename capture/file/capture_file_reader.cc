#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <type_traits>

#include "base/sqlite/sqlite.h"
#include "base/status_macros.h"
#include "base/units.h"
#include "capture/enum_names.h"
#include "capture/file/attach.h"
#include "capture/file/capture_file.h"
#include "capture/file/table_sql.h"

namespace stallhound::capture {
namespace {

// SQLite's header: bytes 68 to 71 hold the application id, big-endian.
constexpr size_t kSqliteHeaderBytes = 100;
constexpr size_t kApplicationIdOffset = 68;

std::vector<std::string> Split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const size_t end = std::min(text.find(separator), text.size());
    parts.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

// One column of the row that a statement stands at.
struct Cell {
  sqlite3_stmt* statement;
  int column;
  const char* table;
  const char* name;
};

class CaptureFileReader : public CaptureReader {
 public:
  CaptureFileReader(SqliteConnection connection, std::string path)
      : connection_(std::move(connection)), path_(std::move(path)) {}

  absl::Status Load() {
    SH_RETURN_IF_ERROR(LoadStrings());
    return LoadInfo();
  }

  const CaptureInfo& info() const override { return info_; }
  const StringTable& strings() const override { return strings_; }

  absl::Status Read(const TableSet& wanted, CaptureVisitor& visitor) override {
#define SH_READ_TABLE(Type, table, COLUMNS) \
  if (wanted.test(static_cast<size_t>(Table::k##Type))) SH_RETURN_IF_ERROR(ReadTable<Type##Batch>(visitor));
    SH_CAPTURE_TABLES(SH_READ_TABLE)
#undef SH_READ_TABLE
    return absl::OkStatus();
  }

 private:
  absl::StatusOr<std::set<std::string>> StoredColumns(const char* table) {
    SH_ASSIGN_OR_RETURN(SqliteStatement select,
                        PrepareSql(connection_.get(), fmt::format("SELECT name FROM pragma_table_info('{}')", table)));
    std::set<std::string> names;
    int result;
    while ((result = sqlite3_step(select.get())) == SQLITE_ROW) {
      names.insert(reinterpret_cast<const char*>(sqlite3_column_text(select.get(), 0)));
    }
    if (result != SQLITE_DONE) return SqliteError(connection_.get(), "reading the columns of", path_);
    return names;
  }

  template <typename Batch>
  absl::Status ReadTable(CaptureVisitor& visitor) {
    using Row = typename Batch::Row;
    SH_ASSIGN_OR_RETURN(const std::set<std::string> stored, StoredColumns(Row::kTable));
    SH_ASSIGN_OR_RETURN(SqliteStatement select, PrepareSql(connection_.get(), SelectSql(Row::kTable, stored)));
    Batch batch;
    Row row;
    int result;
    while ((result = sqlite3_step(select.get())) == SQLITE_ROW) {
      int column = 0;
      absl::Status bad;
      Row::ForEachColumn(row, [&](const char* name, auto& value) {
        if (bad.ok()) bad = ReadColumn({select.get(), column++, Row::kTable, name}, value);
      });
      SH_RETURN_IF_ERROR(bad);
      batch.Append(row);
      if (batch.size == kBatchRows) {
        SH_RETURN_IF_ERROR(visitor.On(batch));
        batch.Clear();
      }
    }
    if (result != SQLITE_DONE) {
      return SqliteError(connection_.get(), fmt::format("reading table {} of", Row::kTable), path_);
    }
    return batch.size == 0 ? absl::OkStatus() : visitor.On(batch);
  }

  template <typename T>
  absl::Status ReadColumn(const Cell& cell, T& value) const {
    if constexpr (std::is_same_v<T, double>) {
      value = sqlite3_column_double(cell.statement, cell.column);
      return absl::OkStatus();
    }
    const int64_t stored = sqlite3_column_int64(cell.statement, cell.column);
    if constexpr (std::is_enum_v<T>) SH_RETURN_IF_ERROR(CheckEnum<T>(cell, stored));
    value = static_cast<T>(stored);
    return absl::OkStatus();
  }
  template <typename T>
  absl::Status ReadColumn(const Cell& cell, std::optional<T>& value) const {
    if (sqlite3_column_type(cell.statement, cell.column) != SQLITE_NULL) return ReadColumn(cell, value.emplace());
    value.reset();
    return absl::OkStatus();
  }

  template <typename Enum>
  absl::Status CheckEnum(const Cell& cell, int64_t stored) const {
    constexpr bool kIsString = std::is_same_v<Enum, StringId>;
    size_t count;
    if constexpr (kIsString) {
      count = strings_.size();
    } else {
      count = EnumNames<Enum>().size();
    }
    if (stored >= 0 && static_cast<uint64_t>(stored) < count) return absl::OkStatus();
    const std::string object = fmt::format("reading {}: {}.{}", path_, cell.table, cell.name);
    return absl::DataLossError(
        kIsString
            ? fmt::format("{} refers to string {}, but the file holds {} strings; the file is damaged", object, stored,
                          count)
            : fmt::format("{} is {}, but this stallhound knows the values 0 to {}; the file is damaged, or of a newer "
                          "stallhound",
                          object, stored, count - 1));
  }

  absl::Status LoadStrings() {
    SH_ASSIGN_OR_RETURN(SqliteStatement select,
                        PrepareSql(connection_.get(), "SELECT string_id, text FROM string ORDER BY string_id"));
    int result;
    while ((result = sqlite3_step(select.get())) == SQLITE_ROW) {
      const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(select.get(), 1));
      const std::string_view view(text == nullptr ? "" : text, sqlite3_column_bytes(select.get(), 1));
      const auto stored_id = static_cast<StringId>(sqlite3_column_int64(select.get(), 0));
      if (strings_.Intern(view) != stored_id) {
        return absl::DataLossError(fmt::format("reading {}: string {} is out of order or double; the file is damaged",
                                               path_, static_cast<uint32_t>(stored_id)));
      }
    }
    if (result != SQLITE_DONE) return SqliteError(connection_.get(), "reading the strings of", path_);
    return absl::OkStatus();
  }

  absl::Status LoadInfo() {
    info_.recorded.reset();
    SH_ASSIGN_OR_RETURN(SqliteStatement select, PrepareSql(connection_.get(), "SELECT key, value FROM capture_info"));
    int result;
    while ((result = sqlite3_step(select.get())) == SQLITE_ROW) {
      const auto* key = reinterpret_cast<const char*>(sqlite3_column_text(select.get(), 0));
      const auto* value = reinterpret_cast<const char*>(sqlite3_column_text(select.get(), 1));
      if (key != nullptr && value != nullptr) SetInfo(key, value);
    }
    if (result != SQLITE_DONE) return SqliteError(connection_.get(), "reading capture_info of", path_);
    return absl::OkStatus();
  }

  void SetInfo(std::string_view key, std::string_view value) {
    if (key == "uuid") info_.uuid = value;
    if (key == "format") info_.format = value;
    if (key == "format_version") info_.format_version = value;
    if (key == "producer") info_.producer = value;
    if (key == "mode") info_.mode = value;
    if (key == "epoch_ns") info_.epoch_ns = ParseInteger(value);
    if (key == "end_ns") info_.end_ns = ParseInteger(value).value_or(0);
    if (key == "notes") info_.notes = Split(value, '\n');
    if (key != "recorded") return;
    for (const std::string& table : Split(value, ' ')) {
#define SH_SET_RECORDED(Type, name, COLUMNS) \
  if (table == #name) info_.recorded.set(static_cast<size_t>(Table::k##Type));
      SH_CAPTURE_TABLES(SH_SET_RECORDED)
#undef SH_SET_RECORDED
    }
  }

  SqliteConnection connection_;
  std::string path_;
  CaptureInfo info_;
  StringTable strings_;
};

// One value of capture_info; nullopt: it is not there.
absl::StatusOr<std::optional<std::string>> StatedValue(const std::string& path, const char* key) {
  SH_ASSIGN_OR_RETURN(const std::string uri, CaptureUri(path));
  SH_ASSIGN_OR_RETURN(SqliteConnection connection, OpenSqlite(uri, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI));
  SH_RETURN_IF_ERROR(CheckCapture(connection.get(), "main", path));
  SH_ASSIGN_OR_RETURN(SqliteStatement select,
                      PrepareSql(connection.get(), "SELECT value FROM capture_info WHERE key = ?1"));
  sqlite3_bind_text(select.get(), 1, key, -1, SQLITE_STATIC);
  if (sqlite3_step(select.get()) != SQLITE_ROW || sqlite3_column_type(select.get(), 0) != SQLITE_TEXT) {
    return std::nullopt;
  }
  return std::string(reinterpret_cast<const char*>(sqlite3_column_text(select.get(), 0)));
}

}  // namespace

bool IsCaptureFile(const std::string& path) {
  // Opening a FIFO would wait for its writer.
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return false;
  std::ifstream file(path, std::ios::binary);
  char head[kSqliteHeaderBytes];
  if (!file.read(head, sizeof head) || std::string_view(head, 15) != "SQLite format 3") return false;
  uint32_t id = 0;
  for (size_t i = 0; i < 4; ++i) id = id << 8 | static_cast<uint8_t>(head[kApplicationIdOffset + i]);
  return id == static_cast<uint32_t>(kCaptureApplicationId);
}

absl::StatusOr<std::unique_ptr<CaptureReader>> OpenCaptureFile(const std::string& path) {
  SH_ASSIGN_OR_RETURN(const std::string uri, CaptureUri(path));
  SH_ASSIGN_OR_RETURN(SqliteConnection connection, OpenSqlite(uri, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI));
  SH_RETURN_IF_ERROR(CheckCapture(connection.get(), "main", path));
  auto reader = std::make_unique<CaptureFileReader>(std::move(connection), path);
  SH_RETURN_IF_ERROR(reader->Load());
  return reader;
}

absl::StatusOr<std::string> CaptureChecksum(const std::string& path) {
  SH_ASSIGN_OR_RETURN(std::optional<std::string> checksum, StatedValue(path, "checksum"));
  if (checksum) return *std::move(checksum);
  return absl::DataLossError(fmt::format("reading the checksum of {}: it states none; the file is damaged", path));
}

absl::StatusOr<std::optional<int64_t>> CaptureStart(const std::string& path) {
  SH_ASSIGN_OR_RETURN(const std::optional<std::string> epoch_ns, StatedValue(path, "epoch_ns"));
  return epoch_ns ? ParseInteger(*epoch_ns) : std::nullopt;
}

}  // namespace stallhound::capture
