#include "capture/import/nsys/enums.h"

#include <algorithm>
#include <cctype>
#include <string>
#include <utility>

#include "base/status_macros.h"

namespace stallhound::capture::nsys {
namespace {

template <typename Value>
using Suffixes = std::initializer_list<std::pair<std::string_view, Value>>;

// Fills `values` from rows (id, name) by the end of the name; the longest matching suffix must stand first.
template <typename Value>
absl::Status ReadEnum(Database& database, std::string_view table, Suffixes<Value> suffixes,
                      absl::flat_hash_map<int64_t, Value>& values) {
  if (!database.Has(table, "id") || !database.Has(table, "name")) return absl::OkStatus();
  SH_ASSIGN_OR_RETURN(Rows rows, database.Select(table, {"id", "name"}));
  while (rows.Next()) {
    const std::optional<std::string_view> name = rows.MaybeText(1);
    if (!rows.IsInt(0) || !name) continue;
    for (const auto& [suffix, value] : suffixes) {
      if (!name->ends_with(suffix)) continue;
      values.emplace(rows.Int(0), value);
      break;
    }
  }
  return rows.status();
}

constexpr CopyOperation Migration(CopyDirection direction) { return {direction, true}; }
constexpr CopyOperation Copied(CopyDirection direction) { return {direction, false}; }

}  // namespace

absl::StatusOr<Enums> Enums::Read(Database& database) {
  Enums enums;
  SH_RETURN_IF_ERROR(ReadEnum<MemoryKind>(database, "ENUM_CUDA_MEM_KIND",
                                          {{"_PAGEABLE", MemoryKind::kPageable},
                                           {"_PINNED", MemoryKind::kPinned},
                                           {"_DEVICE", MemoryKind::kDevice},
                                           {"_ARRAY", MemoryKind::kArray},
                                           {"_MANAGED", MemoryKind::kManaged},
                                           {"_DEVICE_STATIC", MemoryKind::kDeviceStatic},
                                           {"_MANAGED_STATIC", MemoryKind::kManagedStatic},
                                           {"_UNKNOWN", MemoryKind::kUnknown}},
                                          enums.memory_));
  SH_RETURN_IF_ERROR(ReadEnum<CopyOperation>(database, "ENUM_CUDA_MEMCPY_OPER",
                                             {{"_UVM_HTOD", Migration(CopyDirection::kHostToDevice)},
                                              {"_UVM_DTOH", Migration(CopyDirection::kDeviceToHost)},
                                              {"_UVM_DTOD", Migration(CopyDirection::kDeviceToDevice)},
                                              {"_HTOD", Copied(CopyDirection::kHostToDevice)},
                                              {"_DTOH", Copied(CopyDirection::kDeviceToHost)},
                                              {"_HTOA", Copied(CopyDirection::kHostToArray)},
                                              {"_ATOH", Copied(CopyDirection::kArrayToHost)},
                                              {"_ATOA", Copied(CopyDirection::kArrayToArray)},
                                              {"_ATOD", Copied(CopyDirection::kArrayToDevice)},
                                              {"_DTOA", Copied(CopyDirection::kDeviceToArray)},
                                              {"_DTOD", Copied(CopyDirection::kDeviceToDevice)},
                                              {"_HTOH", Copied(CopyDirection::kHostToHost)},
                                              {"_PTOP", Copied(CopyDirection::kPeerToPeer)}},
                                             enums.copy_));
  SH_RETURN_IF_ERROR(ReadEnum<StreamFlag>(database, "ENUM_CUPTI_STREAM_TYPE",
                                          {{"_NON_BLOCKING", StreamFlag::kNonBlocking},
                                           {"_PER_THREAD", StreamFlag::kPerThread},
                                           {"_DEFAULT", StreamFlag::kDefault},
                                           {"_NULL", StreamFlag::kNull}},
                                          enums.stream_));
  return enums;
}

std::optional<MemoryKind> Enums::Memory(std::optional<int64_t> code) const {
  if (!code) return std::nullopt;
  const auto it = memory_.find(*code);
  if (it == memory_.end() || it->second == MemoryKind::kUnknown) return std::nullopt;
  return it->second;
}

CopyOperation Enums::Copy(int64_t code) const {
  if (const auto it = copy_.find(code); it != copy_.end()) return it->second;
  constexpr int64_t kFirstMigration = 11;
  constexpr CopyDirection kMigrations[] = {CopyDirection::kHostToDevice, CopyDirection::kDeviceToHost,
                                           CopyDirection::kDeviceToDevice};
  if (code >= 1 && code < kFirstMigration) return Copied(static_cast<CopyDirection>(code));
  if (code >= kFirstMigration && code < kFirstMigration + 3) return Migration(kMigrations[code - kFirstMigration]);
  return {};
}

StreamFlag Enums::Stream(int64_t code) const {
  if (const auto it = stream_.find(code); it != stream_.end()) return it->second;
  return code >= 1 && code <= 4 ? static_cast<StreamFlag>(code) : StreamFlag::kUnknown;
}

OverheadKind OverheadByName(std::string_view name) {
  constexpr std::pair<std::string_view, OverheadKind> kWords[] = {
      {"command buffer full", OverheadKind::kCommandBufferFull},
      {"lazy function", OverheadKind::kLazyFunctionLoading},
      {"module loading", OverheadKind::kModuleLoading},
      {"buffer flush", OverheadKind::kBufferFlush},
      {"data flush", OverheadKind::kBufferFlush},
      {"buffer request", OverheadKind::kActivityBufferRequest},
      {"instrumentation", OverheadKind::kInstrumentation},
      {"profiling initialization", OverheadKind::kInstrumentation},
      {"resource", OverheadKind::kResource},
      {"compiler", OverheadKind::kDriverCompiler},
      {"uvm", OverheadKind::kUvmInit},
  };
  std::string lower(name);
  std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return std::tolower(c); });
  for (const auto& [word, kind] : kWords) {
    if (lower.find(word) != std::string::npos) return kind;
  }
  return OverheadKind::kUnknown;
}

}  // namespace stallhound::capture::nsys
