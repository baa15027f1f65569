#include "store/sqlite/judgement_rows.h"

#include <fmt/format.h>

#include <string>
#include <tuple>
#include <utility>

#include "base/status_macros.h"
#include "store/sqlite/columns.h"
#include "store/sqlite/sql_text.h"
#include "store/sqlite/statement.h"

namespace stallhound::store {
namespace {

struct JudgementRow {
  int64_t judgement_id = 0;
  Judgement judgement;
};

absl::Status Complete(const Database& database, JudgementRow& row) {
  SH_ASSIGN_OR_RETURN(
      Statement baselines,
      Statement::Prepare(database,
                         "SELECT run.uuid FROM judgement_baseline JOIN run ON run.run_id = judgement_baseline.run_id "
                         "WHERE judgement_id = ? ORDER BY run.uuid"));
  SH_RETURN_IF_ERROR(baselines.ForEachRow(std::tie(row.judgement_id), [&] {
    return baselines.Read(std::tie(row.judgement.baseline_run_uuids.emplace_back()));
  }));
  SH_ASSIGN_OR_RETURN(
      Statement verdicts,
      Statement::Prepare(database,
                         fmt::format("SELECT benchmark.suite, benchmark.name, {} FROM verdict "
                                     "JOIN benchmark ON benchmark.benchmark_id = verdict.benchmark_id "
                                     "WHERE judgement_id = ? ORDER BY benchmark.suite, benchmark.name, metric",
                                     Columns<Verdict>::kNames)));
  return verdicts.ForEachRow(std::tie(row.judgement_id), [&] {
    Verdict& verdict = row.judgement.verdicts.emplace_back();
    return verdicts.Read(std::tuple_cat(std::tie(verdict.suite, verdict.benchmark), Columns<Verdict>::Of(verdict)));
  });
}

// The judgements that `condition` on one text selects.
absl::StatusOr<std::vector<Judgement>> Read(const Database& database, std::string_view condition,
                                            std::string_view value) {
  const std::string sql = fmt::format(
      "SELECT judgement_id, run.uuid, {} FROM judgement JOIN run ON run.run_id = judgement.run_id "
      "WHERE {} = ? ORDER BY judged_at_ns DESC, judgement_id DESC",
      Qualified(Columns<Judgement>::kTable, Columns<Judgement>::kNames), condition);
  SH_ASSIGN_OR_RETURN(Statement statement, Statement::Prepare(database, sql));
  std::vector<JudgementRow> rows;
  SH_RETURN_IF_ERROR(statement.ForEachRow(std::tie(value), [&] {
    JudgementRow& row = rows.emplace_back();
    return statement.Read(
        std::tuple_cat(std::tie(row.judgement_id, row.judgement.run_uuid), Columns<Judgement>::Of(row.judgement)));
  }));
  std::vector<Judgement> judgements;
  for (JudgementRow& row : rows) {
    SH_RETURN_IF_ERROR(Complete(database, row));
    judgements.push_back(std::move(row.judgement));
  }
  return judgements;
}

}  // namespace

absl::StatusOr<std::vector<Judgement>> ReadJudgementsOfRun(const Database& database, std::string_view run_uuid) {
  return Read(database, "run.uuid", run_uuid);
}

absl::StatusOr<std::optional<Judgement>> ReadJudgement(const Database& database, std::string_view uuid) {
  SH_ASSIGN_OR_RETURN(std::vector<Judgement> found, Read(database, "judgement.uuid", uuid));
  if (found.empty()) return std::nullopt;
  return std::move(found.front());
}

absl::StatusOr<std::optional<Acknowledgement>> ReadAcknowledgement(const Database& database, std::string_view uuid) {
  using Row = Columns<Acknowledgement>;
  SH_ASSIGN_OR_RETURN(
      Statement statement,
      Statement::Prepare(database, fmt::format("SELECT {} FROM acknowledgement WHERE uuid = ?", Row::kNames)));
  Acknowledgement acknowledgement;
  SH_ASSIGN_OR_RETURN(const bool found, statement.ReadFirst(std::tie(uuid), Row::Of(acknowledgement)));
  if (!found) return std::nullopt;
  return acknowledgement;
}

absl::StatusOr<std::optional<Baseline>> ReadBaseline(const Database& database, std::string_view name) {
  const std::string sql = fmt::format(
      "SELECT run.uuid, {} FROM baseline JOIN run ON run.run_id = baseline.run_id "
      "WHERE baseline.name = ? ORDER BY baseline_id DESC LIMIT 1",
      Columns<Baseline>::kNames);
  SH_ASSIGN_OR_RETURN(Statement statement, Statement::Prepare(database, sql));
  Baseline baseline;
  SH_ASSIGN_OR_RETURN(const bool found,
                      statement.ReadFirst(std::tie(name), std::tuple_cat(std::tie(baseline.run_uuid),
                                                                         Columns<Baseline>::Of(baseline))));
  if (!found) return std::nullopt;
  return baseline;
}

absl::StatusOr<std::vector<Baseline>> ReadBaselines(const Database& database) {
  const std::string sql = fmt::format(
      "SELECT run.uuid, {} FROM baseline JOIN run ON run.run_id = baseline.run_id "
      "WHERE baseline_id IN (SELECT MAX(baseline_id) FROM baseline GROUP BY name) ORDER BY baseline.name",
      Columns<Baseline>::kNames);
  SH_ASSIGN_OR_RETURN(Statement statement, Statement::Prepare(database, sql));
  std::vector<Baseline> baselines;
  SH_RETURN_IF_ERROR(statement.ForEachRow(std::tuple<>(), [&] {
    Baseline& baseline = baselines.emplace_back();
    return statement.Read(std::tuple_cat(std::tie(baseline.run_uuid), Columns<Baseline>::Of(baseline)));
  }));
  return baselines;
}

absl::StatusOr<std::vector<Acknowledgement>> ReadAcknowledgements(const Database& database, int64_t at_ns) {
  using Row = Columns<Acknowledgement>;
  SH_ASSIGN_OR_RETURN(
      Statement statement,
      Statement::Prepare(database,
                         fmt::format("SELECT {} FROM acknowledgement WHERE created_at_ns <= ?1 AND ?1 < expires_at_ns "
                                     "ORDER BY created_at_ns, acknowledgement_id",
                                     Row::kNames)));
  std::vector<Acknowledgement> acknowledgements;
  SH_RETURN_IF_ERROR(
      statement.ForEachRow(std::tie(at_ns), [&] { return statement.Read(Row::Of(acknowledgements.emplace_back())); }));
  return acknowledgements;
}

}  // namespace stallhound::store
