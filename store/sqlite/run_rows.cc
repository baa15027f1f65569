#include "store/sqlite/run_rows.h"

#include <fmt/format.h>

#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "base/status_macros.h"
#include "store/sqlite/columns.h"
#include "store/sqlite/sample_codec.h"
#include "store/sqlite/sql_text.h"
#include "store/sqlite/statement.h"

namespace stallhound::store {
namespace {

template <typename T>
std::string Names() {
  return Qualified(Columns<T>::kTable, Columns<T>::kNames);
}

struct RunRow {
  int64_t run_id = 0;
  std::optional<int64_t> revision_id;
  int64_t hardware_id = 0;
  int64_t environment_id = 0;
  RunInfo info;
};

template <typename Tuple>
absl::StatusOr<std::vector<RunRow>> ReadRunRows(const Database& database, std::string_view rest, const Tuple& values) {
  const std::string sql =
      fmt::format("SELECT run.run_id, run.revision_id, run.hardware_id, run.environment_id, {} FROM run {}",
                  Names<RunInfo>(), rest);
  SH_ASSIGN_OR_RETURN(Statement statement, Statement::Prepare(database, sql));
  std::vector<RunRow> rows;
  SH_RETURN_IF_ERROR(statement.ForEachRow(values, [&] {
    RunRow& row = rows.emplace_back();
    return statement.Read(std::tuple_cat(std::tie(row.run_id, row.revision_id, row.hardware_id, row.environment_id),
                                         Columns<RunInfo>::Of(row.info)));
  }));
  return rows;
}

template <typename T>
absl::Status ReadById(const Database& database, int64_t id, T& value) {
  using Row = Columns<T>;
  SH_ASSIGN_OR_RETURN(
      Statement statement,
      Statement::Prepare(database, fmt::format("SELECT {0} FROM {1} WHERE {1}_id = ?", Row::kNames, Row::kTable)));
  return statement.ReadFirst(std::tie(id), Row::Of(value)).status();
}

absl::Status ReadSwitches(const Database& database, int64_t environment_id, Environment& environment) {
  SH_ASSIGN_OR_RETURN(
      Statement statement,
      Statement::Prepare(database, "SELECT name, value FROM environment_switch WHERE environment_id = ?"));
  return statement.ForEachRow(std::tie(environment_id), [&] {
    std::string name;
    std::string value;
    const absl::Status status = statement.Read(std::tie(name, value));
    environment.switches.emplace(std::move(name), std::move(value));
    return status;
  });
}

// What of a RunInfo stands in other tables.
absl::Status Complete(const Database& database, RunRow& row) {
  if (row.revision_id.has_value()) {
    SH_RETURN_IF_ERROR(ReadById(database, *row.revision_id, row.info.revision.emplace()));
  }
  SH_RETURN_IF_ERROR(ReadById(database, row.hardware_id, row.info.hardware));
  SH_RETURN_IF_ERROR(ReadById(database, row.environment_id, row.info.environment));
  SH_RETURN_IF_ERROR(ReadSwitches(database, row.environment_id, row.info.environment));
  SH_ASSIGN_OR_RETURN(Statement captures,
                      Statement::Prepare(database, fmt::format("SELECT {} FROM capture WHERE run_id = ? ORDER BY uuid",
                                                               Names<Capture>())));
  return captures.ForEachRow(std::tie(row.run_id),
                             [&] { return captures.Read(Columns<Capture>::Of(row.info.captures.emplace_back())); });
}

absl::StatusOr<std::optional<RunRow>> FindRow(const Database& database, std::string_view uuid) {
  SH_ASSIGN_OR_RETURN(std::vector<RunRow> rows, ReadRunRows(database, "WHERE run.uuid = ?", std::tie(uuid)));
  if (rows.empty()) return std::nullopt;
  SH_RETURN_IF_ERROR(Complete(database, rows.front()));
  return std::move(rows.front());
}

// The benchmarks of one run, by their row's number.
class Benchmarks {
 public:
  Benchmarks(const Database& database, int64_t run_id) : database_(database), run_id_(run_id) {}

  absl::StatusOr<std::vector<BenchmarkResult>> Read() {
    SH_RETURN_IF_ERROR(ReadResults());
    SH_RETURN_IF_ERROR(ReadPoints());
    SH_RETURN_IF_ERROR(ReadKernels());
    SH_RETURN_IF_ERROR(ReadParts(&BenchmarkResult::event_counts));
    SH_RETURN_IF_ERROR(ReadParts(&BenchmarkResult::sync_sites));
    return std::move(results_);
  }

 private:
  // Calls read(statement) for each row of the run.
  template <typename ReadRow>
  absl::Status ForEachRow(const std::string& sql, ReadRow read) {
    SH_ASSIGN_OR_RETURN(Statement statement, Statement::Prepare(database_, sql));
    return statement.ForEachRow(std::tie(run_id_), [&] { return read(statement); });
  }

  absl::Status ReadResults() {
    const std::string sql = fmt::format(
        "SELECT benchmark.benchmark_id, benchmark.suite, benchmark.name, {} FROM benchmark_run "
        "JOIN benchmark ON benchmark.benchmark_id = benchmark_run.benchmark_id WHERE benchmark_run.run_id = ?",
        Names<BenchmarkResult>());
    return ForEachRow(sql, [&](Statement& row) {
      BenchmarkResult& result = results_.emplace_back();
      int64_t id = 0;
      const absl::Status status =
          row.Read(std::tuple_cat(std::tie(id, result.suite, result.name), Columns<BenchmarkResult>::Of(result)));
      index_.emplace(id, results_.size() - 1);
      return status;
    });
  }

  absl::Status ReadPoints() {
    const std::string sql = fmt::format(
        "SELECT series.benchmark_id, sample.content, {}, {} FROM point "
        "JOIN series ON series.series_id = point.series_id "
        "JOIN metric ON metric.metric_id = series.metric_id "
        "LEFT JOIN sample ON sample.series_id = point.series_id AND sample.run_id = point.run_id "
        "WHERE point.run_id = ?",
        Names<Metric>(), Names<Point>());
    return ForEachRow(sql, [&](Statement& row) -> absl::Status {
      Point point;
      std::optional<std::string> samples;
      SH_RETURN_IF_ERROR(row.Read(
          std::tuple_cat(std::tie(id_, samples), Columns<Metric>::Of(point.metric), Columns<Point>::Of(point))));
      if (samples.has_value()) {
        SH_ASSIGN_OR_RETURN(point.samples, DecodeSamples(*samples));
      }
      results_[index_[id_]].points.push_back(std::move(point));
      return absl::OkStatus();
    });
  }

  absl::Status ReadKernels() {
    const std::string sql = fmt::format(
        "SELECT kernel_aggregate.benchmark_id, kernel.name, {} FROM kernel_aggregate "
        "JOIN kernel ON kernel.kernel_id = kernel_aggregate.kernel_id WHERE kernel_aggregate.run_id = ?",
        Names<KernelAggregate>());
    return ForEachRow(sql, [&](Statement& row) {
      KernelAggregate kernel;
      const absl::Status status =
          row.Read(std::tuple_cat(std::tie(id_, kernel.name), Columns<KernelAggregate>::Of(kernel)));
      results_[index_[id_]].kernels.push_back(std::move(kernel));
      return status;
    });
  }

  template <typename Part>
  absl::Status ReadParts(std::vector<Part> BenchmarkResult::*parts) {
    const std::string sql =
        fmt::format("SELECT benchmark_id, {} FROM {} WHERE run_id = ?", Columns<Part>::kNames, Columns<Part>::kTable);
    return ForEachRow(sql, [&](Statement& row) {
      Part part;
      const absl::Status status = row.Read(std::tuple_cat(std::tie(id_), Columns<Part>::Of(part)));
      (results_[index_[id_]].*parts).push_back(std::move(part));
      return status;
    });
  }

  const Database& database_;
  int64_t run_id_;
  int64_t id_ = 0;  // of the benchmark that the row belongs to
  std::vector<BenchmarkResult> results_;
  std::unordered_map<int64_t, size_t> index_;
};

}  // namespace

absl::StatusOr<std::optional<RunInfo>> ReadNewestRun(const Database& database) {
  const size_t limit = 1;
  SH_ASSIGN_OR_RETURN(std::vector<RunRow> rows,
                      ReadRunRows(database, "ORDER BY run.run_id DESC LIMIT ?", std::tie(limit)));
  if (rows.empty()) return std::nullopt;
  SH_RETURN_IF_ERROR(Complete(database, rows.front()));
  return std::move(rows.front().info);
}

absl::StatusOr<std::vector<RunInfo>> ReadLastRuns(const Database& database, const RunFilter& filter) {
  constexpr std::string_view kRest =
      "JOIN comparability ON comparability.comparability_id = run.comparability_id "
      "WHERE (?1 IS NULL OR comparability_key = ?1) AND (?2 IS NULL OR run.branch = ?2) "
      "ORDER BY run.started_at_ns DESC, run.run_id DESC LIMIT ?3";
  SH_ASSIGN_OR_RETURN(std::vector<RunRow> rows,
                      ReadRunRows(database, kRest, std::tie(filter.comparability_key, filter.branch, filter.limit)));
  std::vector<RunInfo> infos;
  for (RunRow& row : rows) {
    SH_RETURN_IF_ERROR(Complete(database, row));
    infos.push_back(std::move(row.info));
  }
  return infos;
}

absl::StatusOr<std::vector<std::string>> FindUuids(const Database& database, std::string_view prefix, size_t limit) {
  SH_ASSIGN_OR_RETURN(
      Statement statement,
      Statement::Prepare(database,
                         "SELECT uuid FROM run WHERE substr(uuid, 1, length(?1)) = ?1 ORDER BY uuid LIMIT ?2"));
  std::vector<std::string> uuids;
  SH_RETURN_IF_ERROR(
      statement.ForEachRow(std::tie(prefix, limit), [&] { return statement.Read(std::tie(uuids.emplace_back())); }));
  return uuids;
}

absl::StatusOr<std::optional<RunInfo>> ReadInfo(const Database& database, std::string_view uuid) {
  SH_ASSIGN_OR_RETURN(std::optional<RunRow> row, FindRow(database, uuid));
  if (!row.has_value()) return std::nullopt;
  return std::move(row->info);
}

absl::StatusOr<std::optional<RunRecord>> ReadWholeRun(const Database& database, std::string_view uuid) {
  SH_ASSIGN_OR_RETURN(std::optional<RunRow> row, FindRow(database, uuid));
  if (!row.has_value()) return std::nullopt;
  RunRecord run;
  run.info = std::move(row->info);
  SH_ASSIGN_OR_RETURN(run.benchmarks, Benchmarks(database, row->run_id).Read());
  SortLists(run);
  return run;
}

absl::StatusOr<std::vector<SeriesPoint>> ReadSeriesRows(const Database& database, const SeriesQuery& query) {
  const std::string sql = fmt::format(
      "SELECT run.uuid, run.started_at_ns, revision.sha, sample.content, {}, {} FROM benchmark "
      "JOIN series ON series.benchmark_id = benchmark.benchmark_id "
      "JOIN metric ON metric.metric_id = series.metric_id "
      "JOIN comparability ON comparability.comparability_id = series.comparability_id "
      "JOIN point ON point.series_id = series.series_id "
      "JOIN run ON run.run_id = point.run_id "
      "LEFT JOIN revision ON revision.revision_id = run.revision_id "
      "LEFT JOIN sample ON sample.series_id = point.series_id AND sample.run_id = point.run_id "
      "WHERE benchmark.suite = ?1 AND benchmark.name = ?2 AND metric.name = ?3 "
      "AND (?4 IS NULL OR comparability_key = ?4) AND (?5 IS NULL OR run.branch = ?5) "
      "ORDER BY run.started_at_ns DESC, run.run_id DESC LIMIT ?6",
      Names<Metric>(), Names<Point>());
  SH_ASSIGN_OR_RETURN(Statement statement, Statement::Prepare(database, sql));
  const auto values = std::tie(query.suite, query.benchmark, query.metric, query.runs.comparability_key,
                               query.runs.branch, query.runs.limit);
  std::vector<SeriesPoint> points;
  SH_RETURN_IF_ERROR(statement.ForEachRow(values, [&]() -> absl::Status {
    SeriesPoint& one = points.emplace_back();
    std::optional<std::string> samples;
    SH_RETURN_IF_ERROR(
        statement.Read(std::tuple_cat(std::tie(one.run_uuid, one.started_at_ns, one.sha, samples),
                                      Columns<Metric>::Of(one.point.metric), Columns<Point>::Of(one.point))));
    if (samples.has_value()) {
      SH_ASSIGN_OR_RETURN(one.point.samples, DecodeSamples(*samples));
    }
    return absl::OkStatus();
  }));
  return points;
}

}  // namespace stallhound::store
