#pragma once

// Reading the history: what the gate and reports need of it.

#include <absl/status/statusor.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "store/run.h"

namespace stallhound::store {

struct RunFilter {
  size_t limit = 20;                             // the newest by start
  std::optional<std::string> comparability_key;  // as comparability.h makes it
  std::optional<std::string> branch;
};

struct SeriesQuery {
  std::string suite;
  std::string benchmark;
  std::string metric;
  RunFilter runs;
};

struct SeriesPoint {
  std::string run_uuid;
  int64_t started_at_ns = 0;
  std::optional<std::string> sha;
  Point point;
};

// Not thread-safe. Each call sees one state of the database, and holds its lock no longer than the call. Errors:
// NotFound; Unavailable when a writer holds the database longer than the lock timeout; DataLoss for damage.
class HistoryReader {
 public:
  virtual ~HistoryReader() = default;

  // Newest start first. Without any, empty.
  virtual absl::StatusOr<std::vector<RunInfo>> LastRuns(const RunFilter& filter) = 0;
  // The run that was added last, whatever the clock said at its start. NotFound without any.
  virtual absl::StatusOr<RunInfo> NewestRun() = 0;
  // The run whose uuid begins with `prefix`, of 4 characters at least. Also InvalidArgument: several begin so.
  virtual absl::StatusOr<RunInfo> FindRun(std::string_view prefix) = 0;
  // A run with all that was measured, lists sorted (SortLists). Costs milliseconds per 10,000 rows.
  virtual absl::StatusOr<RunRecord> ReadRun(std::string_view uuid) = 0;
  // One metric of one benchmark over runs, newest start first, samples included. Empty if nobody measured it.
  virtual absl::StatusOr<std::vector<SeriesPoint>> ReadSeries(const SeriesQuery& query) = 0;
  // What the gate said of a run, newest first; verdicts sorted.
  virtual absl::StatusOr<std::vector<Judgement>> ReadJudgements(std::string_view run_uuid) = 0;
  // Those that have begun and not expired at that instant, in the order made.
  virtual absl::StatusOr<std::vector<Acknowledgement>> ActiveAcknowledgements(int64_t at_ns) = 0;
  // The newest baseline of that name. NotFound if none was set.
  virtual absl::StatusOr<Baseline> FindBaseline(std::string_view name) = 0;
  // The newest baseline of each name, by name.
  virtual absl::StatusOr<std::vector<Baseline>> ListBaselines() = 0;
};

}  // namespace stallhound::store
