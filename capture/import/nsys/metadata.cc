#include "capture/import/nsys/metadata.h"

#include <absl/strings/numbers.h>

#include <string_view>

#include "base/status_macros.h"
#include "capture/symbolize/source_paths.h"

namespace stallhound::capture::nsys {
namespace {

constexpr int64_t kSeverityWarning = 2;
constexpr int64_t kSeverityError = 3;
constexpr size_t kMaxWarnings = 100;

struct TimeBase {
  bool is_normalized = false;  // times are nanoseconds since the epoch already
  int64_t shift_ns = 0;
};

absl::Status ReadExportTable(Database& database, Metadata& metadata, TimeBase& base) {
  for (const char* table : {"META_DATA_EXPORT", "EXPORT_META_DATA"}) {
    if (database.Has(table)) metadata.table = table;
  }
  if (metadata.table.empty()) return absl::OkStatus();
  const char* key = database.Has(metadata.table, "name") ? "name" : "key";
  SH_ASSIGN_OR_RETURN(Rows rows, database.Select(metadata.table, {key, "value"}));
  while (rows.Next()) {
    const std::string_view name = rows.MaybeText(0).value_or("");
    const std::string value(rows.MaybeText(1).value_or(""));
    if (name == "EXPORT_SCHEMA_VERSION") metadata.schema_version = value;
    if (name == "EXPORT_PRODUCT_VERSION") metadata.product_version = value;
    if (name == "EXPORT_PARAM_LAZY" || name == "EXPORT_LAZY") metadata.is_lazy = value == "true";
    if (name == "EXPORT_PARAM_TIME_NORMALIZE") base.is_normalized = value == "true";
    if (name == "EXPORT_PARAM_TIME_SHIFT" && !absl::SimpleAtoi(value, &base.shift_ns)) base.shift_ns = 0;
  }
  return rows.status();
}

absl::Status ReadEpoch(Database& database, const TimeBase& base, Metadata& metadata) {
  constexpr int64_t kMaxShiftNs = int64_t{1} << 60;
  if (base.is_normalized) metadata.epoch_ns = 0;
  if (!base.is_normalized && database.Has("TARGET_INFO_SESSION_START_TIME", "utcEpochNs")) {
    SH_ASSIGN_OR_RETURN(Rows rows, database.Select("TARGET_INFO_SESSION_START_TIME", {"utcEpochNs"}));
    if (rows.Next() && rows.Int(0) > 0 && rows.Int(0) < kMaxShiftNs * 4) metadata.epoch_ns = rows.Int(0);
    SH_RETURN_IF_ERROR(rows.status());
  }
  const bool is_usable = base.shift_ns > -kMaxShiftNs && base.shift_ns < kMaxShiftNs;
  if (metadata.epoch_ns && is_usable) *metadata.epoch_ns -= base.shift_ns;
  return absl::OkStatus();
}

absl::Status ReadGraphMode(Database& database, Metadata& metadata) {
  if (!database.Has("META_DATA_CAPTURE", "name")) return absl::OkStatus();
  const RowFilter filter = {.column = "name", .pattern = "%CUDA_GRAPH_TRACE_OPTIONS:MODE"};
  SH_ASSIGN_OR_RETURN(Rows rows, database.Select("META_DATA_CAPTURE", {"value"}, filter));
  while (rows.Next()) metadata.has_whole_graphs |= rows.MaybeText(0) == "Graph";
  return rows.status();
}

absl::Status ReadDiagnostics(Database& database, Metadata& metadata) {
  if (!database.Has("DIAGNOSTIC_EVENT", "text")) return absl::OkStatus();
  SH_ASSIGN_OR_RETURN(Rows rows, database.Select("DIAGNOSTIC_EVENT", {"severity", "timestamp", "text"}));
  while (rows.Next()) {
    if (rows.Int(0) != kSeverityWarning && rows.Int(0) != kSeverityError) continue;
    const std::string_view text = rows.MaybeText(2).value_or("");
    if (metadata.warnings.size() < kMaxWarnings) {
      metadata.warnings.push_back({rows.Int(1), HideHomes(text.substr(0, text.find('\n')))});
    }
  }
  return rows.status();
}

}  // namespace

absl::StatusOr<Metadata> ReadMetadata(Database& database) {
  Metadata metadata;
  TimeBase base;
  SH_RETURN_IF_ERROR(ReadExportTable(database, metadata, base));
  SH_RETURN_IF_ERROR(ReadEpoch(database, base, metadata));
  SH_RETURN_IF_ERROR(ReadGraphMode(database, metadata));
  SH_RETURN_IF_ERROR(ReadDiagnostics(database, metadata));
  return metadata;
}

}  // namespace stallhound::capture::nsys
