#include "store/sqlite/writer.h"

#include <absl/strings/escaping.h>
#include <absl/strings/str_split.h>
#include <fmt/format.h>

#include <utility>
#include <vector>

#include "store/comparability.h"
#include "store/sqlite/sample_codec.h"

namespace stallhound::store {
namespace {

void AddLine(std::string& text, std::string_view name, const std::optional<std::string>& value) {
  text += fmt::format("{}={}\n", name, value.has_value() ? absl::CEscape(*value) : "?");
}

template <typename Number>
void AddLine(std::string& text, std::string_view name, const std::optional<Number>& value) {
  text += value.has_value() ? fmt::format("{}={:d}\n", name, *value) : fmt::format("{}=?\n", name);
}

// Two values are one row if this is equal; SQL's UNIQUE would take every NULL for another.
template <typename T>
std::string Identity(const T& value) {
  const std::vector<std::string> names = absl::StrSplit(std::string(Columns<T>::kNames), ", ");
  auto name = names.begin();
  std::string text;
  std::apply([&](const auto&... member) { (AddLine(text, *name++, member), ...); }, Columns<T>::Of(value));
  return text;
}

}  // namespace

absl::StatusOr<Statement*> Writer::Prepared(const std::string& sql) {
  auto found = statements_.find(sql);
  if (found == statements_.end()) {
    SH_ASSIGN_OR_RETURN(Statement statement, Statement::Prepare(database_, sql));
    found = statements_.emplace(sql, std::move(statement)).first;
  }
  return &found->second;
}

absl::StatusOr<std::optional<int64_t>> Writer::RevisionId(const std::optional<Revision>& revision) {
  if (!revision.has_value()) return std::nullopt;
  using Row = Columns<Revision>;
  const auto key = std::tie(revision->repository, revision->sha);
  SH_ASSIGN_OR_RETURN(const std::optional<int64_t> id, FindId(Row::kTable, "repository, sha", key));
  if (!id.has_value()) return InsertRow(Row::kTable, Row::kNames, Row::Of(*revision));
  // What an earlier run did not know of the revision.
  SH_ASSIGN_OR_RETURN(Statement * complete,
                      Prepared("UPDATE revision SET parent_sha = COALESCE(parent_sha, ?), "
                               "ordinal_count = COALESCE(ordinal_count, ?), "
                               "authored_at_ns = COALESCE(authored_at_ns, ?) WHERE revision_id = ?"));
  SH_RETURN_IF_ERROR(
      complete->Bind(std::tie(revision->parent_sha, revision->ordinal_count, revision->authored_at_ns, *id)));
  SH_RETURN_IF_ERROR(complete->Step().status());
  return id;
}

absl::StatusOr<int64_t> Writer::EnvironmentId(const Environment& environment) {
  std::string identity = Identity(environment);
  for (const auto& [name, value] : environment.switches) AddLine(identity, "env." + name, std::optional(value));
  SH_ASSIGN_OR_RETURN(const std::optional<int64_t> known, FindId("environment", "identity", std::tie(identity)));
  if (known.has_value()) return *known;
  SH_ASSIGN_OR_RETURN(const int64_t id, Insert("identity", std::tie(identity), environment));
  for (const auto& [name, value] : environment.switches) {
    SH_RETURN_IF_ERROR(
        InsertRow("environment_switch", "environment_id, name, value", std::tie(id, name, value)).status());
  }
  return id;
}

absl::StatusOr<int64_t> Writer::WriteInfo(const RunInfo& info) {
  const std::string identity = Identity(info.hardware);
  SH_ASSIGN_OR_RETURN(const std::optional<int64_t> hardware_id, FindId("hardware", "identity", std::tie(identity)));
  if (hardware_id.has_value()) {
    hardware_id_ = *hardware_id;
  } else {
    SH_ASSIGN_OR_RETURN(hardware_id_, Insert("identity", std::tie(identity), info.hardware));
  }
  SH_ASSIGN_OR_RETURN(comparability_id_, FindOrInsertId("comparability", "comparability_key",
                                                        std::tuple(ComparabilityKey(info.hardware, info.environment))));
  SH_ASSIGN_OR_RETURN(const int64_t environment_id, EnvironmentId(info.environment));
  SH_ASSIGN_OR_RETURN(const std::optional<int64_t> revision_id, RevisionId(info.revision));
  SH_ASSIGN_OR_RETURN(const int64_t run_id,
                      Insert("revision_id, hardware_id, environment_id, comparability_id",
                             std::tie(revision_id, hardware_id_, environment_id, comparability_id_), info));
  for (const Capture& capture : info.captures) {
    SH_RETURN_IF_ERROR(Insert("run_id", std::tie(run_id), capture).status());
  }
  return run_id;
}

absl::StatusOr<int64_t> Writer::MetricId(const Metric& metric) {
  using Row = Columns<Metric>;
  SH_ASSIGN_OR_RETURN(const std::optional<int64_t> id, FindId(Row::kTable, "name", std::tie(metric.name)));
  if (!id.has_value()) return InsertRow(Row::kTable, Row::kNames, Row::Of(metric));
  SH_ASSIGN_OR_RETURN(Statement * read,
                      Prepared(fmt::format("SELECT {} FROM metric WHERE metric_id = ?", Row::kNames)));
  Metric known;
  SH_RETURN_IF_ERROR(read->ReadFirst(std::tie(*id), Row::Of(known)).status());
  if (known == metric) return *id;
  return absl::InvalidArgumentError(
      fmt::format("adding metric '{}' ({}, {}, {} is better) to history '{}': it is known there as ({}, {}, {} is "
                  "better); give what means something else another name",
                  metric.name, metric.unit, Text(metric.kind), Text(metric.better), database_.path(), known.unit,
                  Text(known.kind), Text(known.better)));
}

absl::Status Writer::WriteSamples(const std::tuple<int64_t, int64_t>& point_key, const std::vector<Sample>& samples) {
  if (samples.empty()) return absl::OkStatus();
  for (const Sample& sample : samples) {
    if (sample.sm_clock_hz.value_or(0) >= 0) continue;
    return absl::InvalidArgumentError(
        fmt::format("adding a sample to history '{}': its SM clock is {} Hz", database_.path(), *sample.sm_clock_hz));
  }
  const std::string bytes = EncodeSamples(samples);
  return InsertRow("sample", "series_id, run_id, encoding, content",
                   std::tuple_cat(point_key, std::tuple(std::string_view("delta-varint"), Blob{bytes})))
      .status();
}

absl::Status Writer::WritePoint(const Owner& owner, const Point& point) {
  const auto& [run_id, benchmark_id] = owner;
  SH_ASSIGN_OR_RETURN(const int64_t metric_id, MetricId(point.metric));
  SH_ASSIGN_OR_RETURN(const int64_t series_id,
                      FindOrInsertId("series", "benchmark_id, metric_id, hardware_id, comparability_id",
                                     std::tie(benchmark_id, metric_id, hardware_id_, comparability_id_)));
  const std::tuple key(series_id, run_id);
  SH_RETURN_IF_ERROR(Insert("series_id, run_id", key, point).status());
  return WriteSamples(key, point.samples);
}

absl::Status Writer::WriteBenchmark(int64_t run_id, const BenchmarkResult& benchmark) {
  SH_ASSIGN_OR_RETURN(const int64_t benchmark_id,
                      FindOrInsertId("benchmark", "suite, name", std::tie(benchmark.suite, benchmark.name)));
  constexpr std::string_view kOwner = "run_id, benchmark_id";
  const Owner owner(run_id, benchmark_id);
  SH_RETURN_IF_ERROR(Insert(kOwner, owner, benchmark).status());
  for (const Point& point : benchmark.points) SH_RETURN_IF_ERROR(WritePoint(owner, point));
  for (const KernelAggregate& kernel : benchmark.kernels) {
    SH_ASSIGN_OR_RETURN(const int64_t kernel_id, FindOrInsertId("kernel", "name", std::tie(kernel.name)));
    SH_RETURN_IF_ERROR(
        Insert("run_id, benchmark_id, kernel_id", std::tuple_cat(owner, std::tie(kernel_id)), kernel).status());
  }
  for (const EventCount& count : benchmark.event_counts) SH_RETURN_IF_ERROR(Insert(kOwner, owner, count).status());
  for (const SyncSite& site : benchmark.sync_sites) SH_RETURN_IF_ERROR(Insert(kOwner, owner, site).status());
  return absl::OkStatus();
}

absl::Status Writer::Write(const RunRecord& run) {
  SH_ASSIGN_OR_RETURN(const int64_t run_id, WriteInfo(run.info));
  for (const BenchmarkResult& benchmark : run.benchmarks) SH_RETURN_IF_ERROR(WriteBenchmark(run_id, benchmark));
  return absl::OkStatus();
}

absl::StatusOr<int64_t> Writer::RunId(const std::string& uuid) {
  SH_ASSIGN_OR_RETURN(const std::optional<int64_t> id, FindId("run", "uuid", std::tie(uuid)));
  if (id.has_value()) return *id;
  return absl::NotFoundError(fmt::format("finding run '{}' in history '{}': there is none", uuid, database_.path()));
}

absl::Status Writer::Write(const Judgement& judgement) {
  SH_ASSIGN_OR_RETURN(const int64_t run_id, RunId(judgement.run_uuid));
  SH_ASSIGN_OR_RETURN(const int64_t id, Insert("run_id", std::tie(run_id), judgement));
  for (const std::string& uuid : judgement.baseline_run_uuids) {
    SH_ASSIGN_OR_RETURN(const int64_t baseline_id, RunId(uuid));
    SH_RETURN_IF_ERROR(InsertRow("judgement_baseline", "judgement_id, run_id", std::tie(id, baseline_id)).status());
  }
  for (const Verdict& verdict : judgement.verdicts) {
    SH_ASSIGN_OR_RETURN(const int64_t benchmark_id,
                        FindOrInsertId("benchmark", "suite, name", std::tie(verdict.suite, verdict.benchmark)));
    SH_RETURN_IF_ERROR(Insert("judgement_id, benchmark_id", std::tie(id, benchmark_id), verdict).status());
  }
  return absl::OkStatus();
}

absl::Status Writer::Write(const Acknowledgement& acknowledgement) {
  using Row = Columns<Acknowledgement>;
  return InsertRow(Row::kTable, Row::kNames, Row::Of(acknowledgement)).status();
}

absl::Status Writer::Write(const Baseline& baseline) {
  SH_ASSIGN_OR_RETURN(const int64_t run_id, RunId(baseline.run_uuid));
  return Insert("run_id", std::tie(run_id), baseline).status();
}

}  // namespace stallhound::store
