#pragma once

// What an export says of itself. Read are single named values: the tables around them hold host names, users, paths and
// whole environments, which must not enter a capture.

#include <absl/status/statusor.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "capture/import/nsys/database.h"

namespace stallhound::capture::nsys {

struct Diagnostic {
  int64_t time_ns = 0;
  std::string text;  // first line, without user names
};

struct Metadata {
  std::string table;                 // META_DATA_EXPORT, EXPORT_META_DATA, or empty
  std::string schema_version;        // "3.20.2"; empty: before 2021, or not an untouched export
  std::string product_version;       // "2025.3.1.90"
  std::optional<int64_t> epoch_ns;   // CLOCK_REALTIME at the export's time zero
  bool is_lazy = false;              // empty tables were left out
  bool has_whole_graphs = false;     // graphs were traced as a whole (--cuda-graph-trace=graph)
  std::vector<Diagnostic> warnings;  // severity warning or error
};

absl::StatusOr<Metadata> ReadMetadata(Database& database);

}  // namespace stallhound::capture::nsys
