#include "capture/file/query.h"

#include <absl/strings/str_split.h>
#include <fmt/format.h>
#include <sqlite3.h>

#include <set>
#include <utility>

#include "base/sqlite/sqlite.h"
#include "base/status_macros.h"
#include "capture/file/attach.h"
#include "capture/file/capture_file.h"
#include "capture/schema.h"

namespace stallhound::capture {
namespace {

constexpr int kStepsBetweenStopChecks = 4096;
constexpr int64_t kHeapLimitBytes = int64_t{256} << 20;

absl::Status AttachUri(sqlite3* connection, const std::string& uri, const std::string& schema,
                       const std::string& path) {
  SH_ASSIGN_OR_RETURN(SqliteStatement statement, PrepareSql(connection, "ATTACH DATABASE ?1 AS " + schema));
  sqlite3_bind_text(statement.get(), 1, uri.data(), static_cast<int>(uri.size()), SQLITE_TRANSIENT);
  if (sqlite3_step(statement.get()) == SQLITE_DONE) return absl::OkStatus();
  return SqliteError(connection, "attaching", path);
}

absl::Status AttachCapture(sqlite3* connection, const std::string& path, size_t number) {
  SH_ASSIGN_OR_RETURN(const std::string uri, CaptureUri(path));
  if (!IsCaptureFile(path)) {
    return absl::InvalidArgumentError(fmt::format(
        "querying '{}': not a capture file (files of other tools become one by `stallhound import`)", path));
  }
  const std::string schema = fmt::format("c{}", number);
  SH_RETURN_IF_ERROR(AttachUri(connection, uri, schema, path));
  return CheckCapture(connection, schema, path);
}

absl::Status AttachDatabase(sqlite3* connection, const QueryDatabase& database) {
  sqlite3_busy_timeout(connection, database.lock_timeout_ms);
  // Writable where it may be, for the rollback alone: the authorizer and query_only stop every statement that writes.
  return AttachUri(connection, FileUri(database.path) + "?mode=rw", database.schema, database.path);
}

// `name` is the function's, for SQLITE_FUNCTION.
bool IsReading(int action, const char* name) {
  switch (action) {
    case SQLITE_SELECT:
    case SQLITE_READ:
    case SQLITE_RECURSIVE:
      return true;
    case SQLITE_FUNCTION:
      // Off by default already; a build of SQLite may have it on.
      return name == nullptr || std::string_view(name) != "load_extension";
    default:
      return false;
  }
}

using ReadTables = std::set<std::pair<std::string, std::string>>;  // schema and table

// The limit is SQLite's, of the whole process.
class HeapLimit {
 public:
  HeapLimit() : previous_bytes_(sqlite3_hard_heap_limit64(kHeapLimitBytes)) {}
  HeapLimit(const HeapLimit&) = delete;
  ~HeapLimit() { sqlite3_hard_heap_limit64(previous_bytes_); }

 private:
  sqlite3_int64 previous_bytes_;
};

int ShouldStop(void* request) { return static_cast<const QueryRequest*>(request)->should_stop() ? 1 : 0; }

// Adds to `read_tables`, which outlives the connection, what statements read.
absl::StatusOr<SqliteConnection> OpenAll(const QueryRequest& request, ReadTables& read_tables) {
  const size_t most_captures = kMaxQueryCaptures - (request.database ? 1 : 0);
  if (request.captures.size() > most_captures) {
    return absl::InvalidArgumentError(fmt::format("querying {} captures at once: at most {} can be attached",
                                                  request.captures.size(), most_captures));
  }
  SH_ASSIGN_OR_RETURN(SqliteConnection connection,
                      OpenSqlite(":memory:", SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_URI));
  for (size_t i = 0; i < request.captures.size(); ++i) {
    SH_RETURN_IF_ERROR(AttachCapture(connection.get(), request.captures[i], i + 1));
  }
  if (request.database) SH_RETURN_IF_ERROR(AttachDatabase(connection.get(), *request.database));
  SH_RETURN_IF_ERROR(ExecuteSql(connection.get(), "PRAGMA query_only = 1; PRAGMA trusted_schema = 0;"));
  // `name` and `detail` depend on the action: of a read, the table and the column.
  const auto authorize = [](void* tables, int action, const char* name, const char* detail, const char* schema,
                            const char*) {
    if (!IsReading(action, detail)) return SQLITE_DENY;
    if (action == SQLITE_READ && name != nullptr && schema != nullptr) {
      static_cast<ReadTables*>(tables)->emplace(schema, name);
    }
    return SQLITE_OK;
  };
  sqlite3_set_authorizer(connection.get(), authorize, &read_tables);
  if (request.should_stop) {
    sqlite3_progress_handler(connection.get(), kStepsBetweenStopChecks, ShouldStop,
                             const_cast<QueryRequest*>(&request));
  }
  return connection;
}

absl::Status QueryError(sqlite3* connection) {
  switch (sqlite3_errcode(connection)) {
    case SQLITE_AUTH:
      return absl::InvalidArgumentError(fmt::format(
          "running the query: {}; queries may only read (SELECT, WITH, VALUES, EXPLAIN)", sqlite3_errmsg(connection)));
    case SQLITE_INTERRUPT:
      return absl::CancelledError("running the query: interrupted");
    case SQLITE_NOMEM:
      return absl::ResourceExhaustedError(
          fmt::format("running the query: it needs more than {} MiB of memory", kHeapLimitBytes >> 20));
    default:
      return SqliteError(connection, "running", "the query");
  }
}

// SQLite prepares one statement and says where it ends. Blanks, semicolons and comments may follow.
absl::StatusOr<SqliteStatement> PrepareOnly(sqlite3* connection, const std::string& sql) {
  sqlite3_stmt* raw = nullptr;
  const char* rest = nullptr;
  if (sqlite3_prepare_v2(connection, sql.c_str(), static_cast<int>(sql.size()) + 1, &raw, &rest) != SQLITE_OK) {
    return QueryError(connection);
  }
  SqliteStatement statement(raw);
  if (statement == nullptr) return absl::InvalidArgumentError("running the query: it is empty");
  while (rest != nullptr && *rest != '\0') {
    sqlite3_stmt* second = nullptr;
    const int result = sqlite3_prepare_v2(connection, rest, -1, &second, &rest);
    sqlite3_finalize(second);
    if (result != SQLITE_OK || second != nullptr) {
      return absl::InvalidArgumentError(
          "running the query: one statement at a time; there is more behind the first ';'");
    }
  }
  if (sqlite3_stmt_readonly(statement.get()) == 0) {
    return absl::InvalidArgumentError("running the query: it would write; queries may only read");
  }
  return statement;
}

absl::Status TellUnrecorded(sqlite3* connection, const QueryRequest& request, const ReadTables& read_tables) {
  if (!request.on_unrecorded) return absl::OkStatus();
  for (size_t i = 0; i < request.captures.size(); ++i) {
    UnrecordedTables unrecorded{fmt::format("c{}", i + 1), {}};
    const std::string sql = fmt::format("SELECT value FROM {}.capture_info WHERE key = 'recorded'", unrecorded.schema);
    SH_ASSIGN_OR_RETURN(const SqliteStatement select, PrepareSql(connection, sql));
    if (sqlite3_step(select.get()) != SQLITE_ROW) continue;  // it does not say
    const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(select.get(), 0));
    const std::set<std::string> recorded = absl::StrSplit(text == nullptr ? "" : text, ' ');
#define SH_ADD_UNRECORDED(Type, table, COLUMNS)                                          \
  if (read_tables.contains({unrecorded.schema, #table}) && !recorded.contains(#table)) { \
    unrecorded.tables.emplace_back(#table);                                              \
  }
    SH_CAPTURE_TABLES(SH_ADD_UNRECORDED)
#undef SH_ADD_UNRECORDED
    if (!unrecorded.tables.empty()) request.on_unrecorded(unrecorded);
  }
  return absl::OkStatus();
}

std::string_view Bytes(const void* data, int size) {
  return {static_cast<const char*>(data), static_cast<size_t>(size)};
}

QueryValue ValueOf(sqlite3_stmt* statement, int column) {
  QueryValue value;
  switch (sqlite3_column_type(statement, column)) {
    case SQLITE_INTEGER:
      value.kind = QueryValue::Kind::kInteger;
      value.integer = sqlite3_column_int64(statement, column);
      break;
    case SQLITE_FLOAT:
      value.kind = QueryValue::Kind::kReal;
      value.real = sqlite3_column_double(statement, column);
      break;
    case SQLITE_TEXT:
      value.kind = QueryValue::Kind::kText;
      value.text = Bytes(sqlite3_column_text(statement, column), sqlite3_column_bytes(statement, column));
      break;
    case SQLITE_BLOB:
      value.kind = QueryValue::Kind::kBlob;
      value.text = Bytes(sqlite3_column_blob(statement, column), sqlite3_column_bytes(statement, column));
      break;
    default:
      break;
  }
  return value;
}

}  // namespace

absl::Status RunQuery(const QueryRequest& request, QueryVisitor& visitor) {
  const HeapLimit limit;
  ReadTables read_tables;
  SH_ASSIGN_OR_RETURN(const SqliteConnection connection, OpenAll(request, read_tables));
  SH_ASSIGN_OR_RETURN(const SqliteStatement statement, PrepareOnly(connection.get(), request.sql));
  SH_RETURN_IF_ERROR(TellUnrecorded(connection.get(), request, read_tables));
  const int column_count = sqlite3_column_count(statement.get());
  std::vector<std::string> names;
  for (int i = 0; i < column_count; ++i) names.emplace_back(sqlite3_column_name(statement.get(), i));
  SH_RETURN_IF_ERROR(visitor.OnColumns(names));
  std::vector<QueryValue> values(static_cast<size_t>(column_count));
  while (true) {
    const int result = sqlite3_step(statement.get());
    if (result == SQLITE_DONE) return absl::OkStatus();
    if (result != SQLITE_ROW) return QueryError(connection.get());
    for (int i = 0; i < column_count; ++i) values[static_cast<size_t>(i)] = ValueOf(statement.get(), i);
    SH_RETURN_IF_ERROR(visitor.OnRow(values));
  }
}

}  // namespace stallhound::capture
