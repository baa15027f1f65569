#pragma once

// Writes values as rows, inside a transaction of the caller's.

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <fmt/format.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/status_macros.h"
#include "store/run.h"
#include "store/sqlite/columns.h"
#include "store/sqlite/database.h"
#include "store/sqlite/sql_text.h"
#include "store/sqlite/statement.h"

namespace stallhound::store {

class Writer {
 public:
  explicit Writer(const Database& database) : database_(database) {}

  absl::Status Write(const RunRecord& run);
  absl::Status Write(const Judgement& judgement);
  absl::Status Write(const Acknowledgement& acknowledgement);
  absl::Status Write(const Baseline& baseline);

 private:
  // A run's row and that of one of its benchmarks.
  using Owner = std::tuple<int64_t, int64_t>;

  absl::StatusOr<int64_t> WriteInfo(const RunInfo& info);
  absl::StatusOr<std::optional<int64_t>> RevisionId(const std::optional<Revision>& revision);
  absl::StatusOr<int64_t> EnvironmentId(const Environment& environment);
  absl::StatusOr<int64_t> MetricId(const Metric& metric);
  absl::StatusOr<int64_t> RunId(const std::string& uuid);
  absl::Status WriteBenchmark(int64_t run_id, const BenchmarkResult& benchmark);
  absl::Status WritePoint(const Owner& owner, const Point& point);
  absl::Status WriteSamples(const std::tuple<int64_t, int64_t>& point_key, const std::vector<Sample>& samples);

  // Prepared once per text.
  absl::StatusOr<Statement*> Prepared(const std::string& sql);

  // Returns the new row's number.
  template <typename Tuple>
  absl::StatusOr<int64_t> InsertRow(std::string_view table, std::string_view names, const Tuple& values) {
    SH_ASSIGN_OR_RETURN(Statement * insert, Prepared(InsertSql(table, names, std::tuple_size_v<Tuple>)));
    SH_RETURN_IF_ERROR(insert->Bind(values));
    SH_RETURN_IF_ERROR(insert->Step().status());
    return sqlite3_last_insert_rowid(database_.connection());
  }

  // `key_names` are the columns of `keys`, which stand beside those of the value.
  template <typename Keys, typename T>
  absl::StatusOr<int64_t> Insert(std::string_view key_names, const Keys& keys, const T& value) {
    using Row = Columns<T>;
    return InsertRow(Row::kTable, fmt::format("{}, {}", key_names, Row::kNames), std::tuple_cat(keys, Row::Of(value)));
  }

  template <typename Tuple>
  absl::StatusOr<std::optional<int64_t>> FindId(std::string_view table, std::string_view names, const Tuple& values) {
    SH_ASSIGN_OR_RETURN(Statement * find, Prepared(FindIdSql(table, names, std::tuple_size_v<Tuple>)));
    int64_t id = 0;
    SH_ASSIGN_OR_RETURN(const bool found, find->ReadFirst(values, std::tie(id)));
    if (!found) return std::nullopt;
    return id;
  }

  template <typename Tuple>
  absl::StatusOr<int64_t> FindOrInsertId(std::string_view table, std::string_view names, const Tuple& values) {
    SH_ASSIGN_OR_RETURN(const std::optional<int64_t> id, FindId(table, names, values));
    if (id.has_value()) return *id;
    return InsertRow(table, names, values);
  }

  const Database& database_;
  std::map<std::string, Statement> statements_;
  // Of the run being written.
  int64_t hardware_id_ = 0;
  int64_t comparability_id_ = 0;
};

}  // namespace stallhound::store
