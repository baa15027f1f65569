#pragma once

// SQL over capture files, for people: only reading, and nothing but reading.

#include <absl/status/status.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace stallhound::capture {

// One value of a row. `text` holds the bytes of kText and kBlob and lives as long as the call it is passed to.
struct QueryValue {
  enum class Kind : uint8_t { kNull, kInteger, kReal, kText, kBlob };
  Kind kind = Kind::kNull;
  int64_t integer = 0;
  double real = 0;
  std::string_view text;
};

// Receives the result. An error ends the query and is returned from it.
class QueryVisitor {
 public:
  virtual ~QueryVisitor() = default;
  // Once, before any row. Names may repeat, as SQL allows.
  virtual absl::Status OnColumns(std::span<const std::string> names) = 0;
  virtual absl::Status OnRow(std::span<const QueryValue> values) = 0;
};

// An SQLite database that others may be writing: its locks are honoured, and what a killed writer left is rolled back.
struct QueryDatabase {
  std::string path;
  std::string schema;            // attached as this; letters only
  int lock_timeout_ms = 10'000;  // how long to try while another process writes
};

// Tables that a statement reads although the capture attached as `schema` did not record their kind: that they are
// empty says nothing.
struct UnrecordedTables {
  std::string schema;
  std::vector<std::string> tables;  // in the order of capture/schema.h; not empty
};

struct QueryRequest {
  std::string sql;                        // one SELECT, WITH ... SELECT, VALUES or EXPLAIN of these
  std::vector<std::string> captures;      // paths of capture files; at most kMaxQueryCaptures
  std::function<bool()> should_stop;      // asked every few thousand steps; true cancels. May be empty
  std::optional<QueryDatabase> database;  // attached behind the captures
  // Told before any row, a capture at a time. May be empty.
  std::function<void(const UnrecordedTables&)> on_unrecorded = {};
};

inline constexpr size_t kMaxQueryCaptures = 10;  // SQLite's limit of attached files; one less with a database

// Runs one statement. The captures are attached, read-only, as c1, c2, ... in the given order; a table without a prefix
// is that of the first that has it. Rows are streamed. An authorizer of SQLite lets nothing but reading pass: no
// ATTACH, PRAGMA, write, transaction, temporary table or extension. Errors: InvalidArgument (SQL that does not parse,
// more than one statement, one that does more than read, a file that is no capture), NotFound, PermissionDenied (of a
// file), FailedPrecondition (as OpenCaptureFile), Cancelled, DataLoss, ResourceExhausted (memory), Unavailable (another
// process holds the database longer than its lock timeout).
absl::Status RunQuery(const QueryRequest& request, QueryVisitor& visitor);

}  // namespace stallhound::capture
