#include "capture/import/nsys/schema_check.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <vector>

#include "base/status_macros.h"
#include "capture/import/nsys/event_rows.h"

namespace stallhound::capture::nsys {
namespace {

struct TableColumns {
  const char* table;
  std::vector<const char*> required;
  std::vector<const char*> expected;
};

const std::vector<TableColumns>& EventTables() {
  static const auto* const tables = new std::vector<TableColumns>{
      {kRuntimeTable, {"start", "end", "globalTid", "nameId"}, {"correlationId", "returnValue"}},
      {kKernelTable,
       {"start", "end", "deviceId", "streamId"},
       {"contextId", "correlationId", "globalPid", "registersPerThread", "gridX", "gridY", "gridZ", "blockX", "blockY",
        "blockZ", "staticSharedMemory", "dynamicSharedMemory"}},
      {kCopyTable,
       {"start", "end", "deviceId", "streamId", "bytes", "copyKind"},
       {"contextId", "correlationId", "globalPid", "srcKind", "dstKind"}},
      {kMemsetTable,
       {"start", "end", "deviceId", "streamId", "bytes"},
       {"contextId", "correlationId", "globalPid", "memKind"}},
      {kSyncTable, {"start", "end"}, {"correlationId", "globalPid", "contextId", "streamId", "eventId"}},
      {kGraphTable, {"start", "end", "deviceId", "streamId"}, {"correlationId", "globalPid"}},
      {kNvtxTable, {"start", "end", "eventType", "globalTid"}, {"text", "textId", "domainId"}},
  };
  return *tables;
}

std::vector<std::string> Absent(const Database& database, const char* table, const std::vector<const char*>& columns) {
  std::vector<std::string> absent;
  for (const char* column : columns) {
    if (!database.Has(table, column)) absent.push_back(column);
  }
  return absent;
}

// "an unknown schema" or "schema 3.20.2".
std::string SchemaName(const Metadata& metadata) {
  return metadata.schema_version.empty() ? "a schema without a version" : "schema " + metadata.schema_version;
}

absl::Status CheckIsExport(const Database& database) {
  if (database.Has("StringIds", "id") && database.Has("StringIds", "value")) return absl::OkStatus();
  if (database.Has("StringTable") || database.Has("CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL")) {
    return absl::InvalidArgumentError(fmt::format(
        "importing '{}': this is a database of nvprof or the Visual Profiler (table StringTable, no StringIds), which "
        "holds no process ids and is not read (hint: record again with `stallhound hunt` or nsys)",
        database.name()));
  }
  return absl::InvalidArgumentError(
      fmt::format("importing '{}' as an Nsight Systems export: it has no table StringIds, only {}", database.name(),
                  fmt::join(database.Tables(), ", ")));
}

}  // namespace

absl::Status CheckSchema(const Database& database, const Metadata& metadata, Losses& losses) {
  SH_RETURN_IF_ERROR(CheckIsExport(database));
  for (const TableColumns& table : EventTables()) {
    if (!database.Has(table.table)) continue;
    const std::vector<std::string> required = Absent(database, table.table, table.required);
    if (!required.empty()) {
      return absl::InvalidArgumentError(fmt::format(
          "importing the Nsight Systems export '{}' ({}): table {} has no column {} (it has {}); known are schemas 2.9 "
          "to 3.25 and those before",
          database.name(), SchemaName(metadata), table.table, fmt::join(required, ", "),
          fmt::join(database.Columns(table.table), ", ")));
    }
    const std::vector<std::string> expected = Absent(database, table.table, table.expected);
    losses.Add(LossCounter::kMissingColumn, fmt::format("{}: {}", table.table, fmt::join(expected, ", ")),
               static_cast<int64_t>(expected.size()));
  }
  constexpr const char* kNameColumns[] = {"demangledName", "shortName", "mangledName"};
  bool has_name = !database.Has(kKernelTable);
  for (const char* column : kNameColumns) has_name |= database.Has(kKernelTable, column);
  if (has_name) return absl::OkStatus();
  return absl::InvalidArgumentError(fmt::format(
      "importing the Nsight Systems export '{}' ({}): table {} has no column for the kernel's name (demangledName, "
      "shortName or mangledName)",
      database.name(), SchemaName(metadata), kKernelTable));
}

}  // namespace stallhound::capture::nsys
