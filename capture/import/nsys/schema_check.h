#pragma once

// Which tables and columns of an export are needed, and what it means that one is absent.

#include <absl/status/status.h>

#include "capture/import/nsys/database.h"
#include "capture/import/nsys/losses.h"
#include "capture/import/nsys/metadata.h"

namespace stallhound::capture::nsys {

// InvalidArgument: the database is something else (nvprof), or its event tables lack columns that every known schema
// has. Columns that only some analyses need are counted as missing.
absl::Status CheckSchema(const Database& database, const Metadata& metadata, Losses& losses);

}  // namespace stallhound::capture::nsys
