#pragma once

// Reads runs from their rows, inside a transaction of the caller's.

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "store/reader.h"
#include "store/run.h"
#include "store/sqlite/database.h"

namespace stallhound::store {

// The one that was added last.
absl::StatusOr<std::optional<RunInfo>> ReadNewestRun(const Database& database);
// Newest start first.
absl::StatusOr<std::vector<RunInfo>> ReadLastRuns(const Database& database, const RunFilter& filter);

// At most `limit` uuids that begin with `prefix`.
absl::StatusOr<std::vector<std::string>> FindUuids(const Database& database, std::string_view prefix, size_t limit);

// nullopt: no such run.
absl::StatusOr<std::optional<RunInfo>> ReadInfo(const Database& database, std::string_view uuid);

// All of a run, lists sorted. nullopt: no such run.
absl::StatusOr<std::optional<RunRecord>> ReadWholeRun(const Database& database, std::string_view uuid);

absl::StatusOr<std::vector<SeriesPoint>> ReadSeriesRows(const Database& database, const SeriesQuery& query);

}  // namespace stallhound::store
