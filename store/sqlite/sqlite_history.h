#pragma once

// The history in one SQLite file.

#include <absl/status/statusor.h>

#include <memory>

#include "store/history.h"
#include "store/sqlite/database.h"

namespace stallhound::store {

// As OpenHistory, with what it finds out by itself in the request.
absl::StatusOr<std::unique_ptr<History>> OpenSqliteHistory(const Database::Request& request);

}  // namespace stallhound::store
