#include "store/sqlite/sqlite_history.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "base/status_macros.h"
#include "store/schema/migrations.h"
#include "store/sqlite/file_system.h"
#include "store/sqlite/judgement_rows.h"
#include "store/sqlite/run_rows.h"
#include "store/sqlite/writer.h"

namespace stallhound::store {
namespace {

constexpr size_t kMinimumUuidPrefix = 4;

// What two appends of one run may differ in: facts of the revision, which the history completes as it learns them.
void ForgetRevisionFacts(RunRecord& run) {
  if (run.info.revision.has_value())
    run.info.revision = Revision{run.info.revision->repository, run.info.revision->sha};
}

class SqliteHistory : public History {
 public:
  explicit SqliteHistory(Database database) : database_(std::move(database)) {}

  absl::StatusOr<AppendResult> AppendRun(const RunRecord& run) override {
    RunRecord wanted = run;
    SortLists(wanted);
    ForgetRevisionFacts(wanted);
    return Append(run, "run", run.info.uuid, [&]() -> absl::StatusOr<std::optional<bool>> {
      SH_ASSIGN_OR_RETURN(std::optional<RunRecord> known, ReadWholeRun(database_, run.info.uuid));
      if (!known.has_value()) return std::nullopt;
      ForgetRevisionFacts(*known);
      return *known == wanted;
    });
  }

  absl::StatusOr<AppendResult> AppendJudgement(const Judgement& judgement) override {
    Judgement wanted = judgement;
    std::sort(wanted.baseline_run_uuids.begin(), wanted.baseline_run_uuids.end());
    std::sort(wanted.verdicts.begin(), wanted.verdicts.end(), [](const Verdict& a, const Verdict& b) { return a < b; });
    return Append(judgement, "judgement", judgement.uuid, [&]() -> absl::StatusOr<std::optional<bool>> {
      SH_ASSIGN_OR_RETURN(const std::optional<Judgement> known, ReadJudgement(database_, judgement.uuid));
      return known.has_value() ? std::optional(*known == wanted) : std::nullopt;
    });
  }

  absl::StatusOr<AppendResult> AppendAcknowledgement(const Acknowledgement& wanted) override {
    return Append(wanted, "acknowledgement", wanted.uuid, [&]() -> absl::StatusOr<std::optional<bool>> {
      SH_ASSIGN_OR_RETURN(const std::optional<Acknowledgement> known, ReadAcknowledgement(database_, wanted.uuid));
      return known.has_value() ? std::optional(*known == wanted) : std::nullopt;
    });
  }

  absl::Status SetBaseline(const Baseline& baseline) override {
    SH_ASSIGN_OR_RETURN(Transaction transaction, Transaction::Begin(database_, Transaction::Kind::kWrite));
    SH_RETURN_IF_ERROR(Writer(database_).Write(baseline));
    return transaction.Commit();
  }

  absl::StatusOr<std::vector<RunInfo>> LastRuns(const RunFilter& filter) override {
    SH_ASSIGN_OR_RETURN(const Transaction transaction, Transaction::Begin(database_, Transaction::Kind::kRead));
    return ReadLastRuns(database_, filter);
  }

  absl::StatusOr<RunInfo> NewestRun() override {
    SH_ASSIGN_OR_RETURN(const Transaction transaction, Transaction::Begin(database_, Transaction::Kind::kRead));
    SH_ASSIGN_OR_RETURN(std::optional<RunInfo> info, ReadNewestRun(database_));
    if (info.has_value()) return *std::move(info);
    return absl::NotFoundError(fmt::format("finding the newest run: the history '{}' has none", database_.path()));
  }

  absl::StatusOr<RunInfo> FindRun(std::string_view prefix) override {
    if (prefix.size() < kMinimumUuidPrefix) {
      return absl::InvalidArgumentError(
          fmt::format("finding run '{}': give {} characters of its uuid at least", prefix, kMinimumUuidPrefix));
    }
    SH_ASSIGN_OR_RETURN(const Transaction transaction, Transaction::Begin(database_, Transaction::Kind::kRead));
    SH_ASSIGN_OR_RETURN(const std::vector<std::string> uuids, FindUuids(database_, prefix, 2));
    if (uuids.empty()) return NoRun(prefix);
    if (uuids.size() > 1 && uuids.front() != prefix) {
      return absl::InvalidArgumentError(fmt::format(
          "finding run '{}': several begin so ({}, {}); give more of the uuid", prefix, uuids[0], uuids[1]));
    }
    SH_ASSIGN_OR_RETURN(std::optional<RunInfo> info, ReadInfo(database_, uuids.front()));
    return *std::move(info);
  }

  absl::StatusOr<RunRecord> ReadRun(std::string_view uuid) override {
    SH_ASSIGN_OR_RETURN(const Transaction transaction, Transaction::Begin(database_, Transaction::Kind::kRead));
    SH_ASSIGN_OR_RETURN(std::optional<RunRecord> run, ReadWholeRun(database_, uuid));
    if (!run.has_value()) return NoRun(uuid);
    return *std::move(run);
  }

  absl::StatusOr<std::vector<SeriesPoint>> ReadSeries(const SeriesQuery& query) override {
    SH_ASSIGN_OR_RETURN(const Transaction transaction, Transaction::Begin(database_, Transaction::Kind::kRead));
    return ReadSeriesRows(database_, query);
  }

  absl::StatusOr<std::vector<Judgement>> ReadJudgements(std::string_view run_uuid) override {
    SH_ASSIGN_OR_RETURN(const Transaction transaction, Transaction::Begin(database_, Transaction::Kind::kRead));
    return ReadJudgementsOfRun(database_, run_uuid);
  }

  absl::StatusOr<std::vector<Acknowledgement>> ActiveAcknowledgements(int64_t at_ns) override {
    SH_ASSIGN_OR_RETURN(const Transaction transaction, Transaction::Begin(database_, Transaction::Kind::kRead));
    return ReadAcknowledgements(database_, at_ns);
  }

  absl::StatusOr<Baseline> FindBaseline(std::string_view name) override {
    SH_ASSIGN_OR_RETURN(const Transaction transaction, Transaction::Begin(database_, Transaction::Kind::kRead));
    SH_ASSIGN_OR_RETURN(std::optional<Baseline> baseline, ReadBaseline(database_, name));
    if (baseline.has_value()) return *std::move(baseline);
    return absl::NotFoundError(
        fmt::format("finding baseline '{}' in history '{}': none was set; "
                    "`stallhound baseline set` does",
                    name, database_.path()));
  }

  absl::StatusOr<std::vector<Baseline>> ListBaselines() override {
    SH_ASSIGN_OR_RETURN(const Transaction transaction, Transaction::Begin(database_, Transaction::Kind::kRead));
    return ReadBaselines(database_);
  }

  const std::vector<std::string>& warnings() const override { return database_.warnings(); }

 private:
  // `is_known` says whether there is one of that uuid, and if so whether it is the same.
  template <typename T>
  absl::StatusOr<AppendResult> Append(const T& value, std::string_view what, std::string_view uuid,
                                      const std::function<absl::StatusOr<std::optional<bool>>()>& is_known) {
    if (uuid.empty()) {
      return absl::InvalidArgumentError(
          fmt::format("adding a {} to history '{}': it has no uuid", what, database_.path()));
    }
    SH_ASSIGN_OR_RETURN(Transaction transaction, Transaction::Begin(database_, Transaction::Kind::kWrite));
    SH_ASSIGN_OR_RETURN(const std::optional<bool> is_same, is_known());
    if (is_same.has_value()) {
      if (*is_same) return AppendResult::kAlreadyThere;
      return absl::AlreadyExistsError(
          fmt::format("adding {} {} to history '{}': another of this uuid is there; a uuid "
                      "stands for one content, make a new one",
                      what, uuid, database_.path()));
    }
    SH_RETURN_IF_ERROR(Writer(database_).Write(value));
    SH_RETURN_IF_ERROR(transaction.Commit());
    return AppendResult::kAppended;
  }

  absl::Status NoRun(std::string_view uuid) const {
    return absl::NotFoundError(fmt::format(
        "finding run '{}' in history '{}': there is none; `stallhound runs` lists them", uuid, database_.path()));
  }

  Database database_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<History>> OpenSqliteHistory(const Database::Request& request) {
  SH_ASSIGN_OR_RETURN(Database database, Database::Open(request));
  return std::make_unique<SqliteHistory>(std::move(database));
}

absl::StatusOr<std::unique_ptr<History>> OpenHistory(const std::string& path, const OpenOptions& options) {
  return OpenSqliteHistory({path, options, Migrations(), FileSystemType(path).value_or(0)});
}

}  // namespace stallhound::store
