#pragma once

// Reads what was said of runs from its rows, inside a transaction of the caller's.

#include <absl/status/statusor.h>

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "store/run.h"
#include "store/sqlite/database.h"

namespace stallhound::store {

// Newest first; verdicts and baselines sorted.
absl::StatusOr<std::vector<Judgement>> ReadJudgementsOfRun(const Database& database, std::string_view run_uuid);

// nullopt: there is none of that uuid, of that name.
absl::StatusOr<std::optional<Judgement>> ReadJudgement(const Database& database, std::string_view uuid);
absl::StatusOr<std::optional<Acknowledgement>> ReadAcknowledgement(const Database& database, std::string_view uuid);
absl::StatusOr<std::optional<Baseline>> ReadBaseline(const Database& database, std::string_view name);

// The newest of each name, by name.
absl::StatusOr<std::vector<Baseline>> ReadBaselines(const Database& database);

// Those that hold at that instant.
absl::StatusOr<std::vector<Acknowledgement>> ReadAcknowledgements(const Database& database, int64_t at_ns);

}  // namespace stallhound::store
