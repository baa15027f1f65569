#pragma once

// The event tables of an export row by row, with what all versions and both passes (survey and read) share: which rows
// are usable, whose they are, and which calls are stored twice.

#include <absl/status/statusor.h>

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "capture/import/nsys/database.h"
#include "capture/import/nsys/identities.h"
#include "capture/import/nsys/names.h"

namespace stallhound::capture::nsys {

inline constexpr char kRuntimeTable[] = "CUPTI_ACTIVITY_KIND_RUNTIME";  // holds driver calls too
inline constexpr char kKernelTable[] = "CUPTI_ACTIVITY_KIND_KERNEL";
inline constexpr char kCopyTable[] = "CUPTI_ACTIVITY_KIND_MEMCPY";
inline constexpr char kMemsetTable[] = "CUPTI_ACTIVITY_KIND_MEMSET";
inline constexpr char kSyncTable[] = "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION";
inline constexpr char kCudaEventTable[] = "CUPTI_ACTIVITY_KIND_CUDA_EVENT";
inline constexpr char kGraphTable[] = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE";
inline constexpr char kOverheadTable[] = "CUPTI_ACTIVITY_KIND_OVERHEAD";
inline constexpr char kProfilerTable[] = "PROFILER_OVERHEAD";
inline constexpr char kNvtxTable[] = "NVTX_EVENTS";

// eventType of NVTX_EVENTS.
inline constexpr int64_t kNvtxCategory = 33;
inline constexpr int64_t kNvtxMark = 34;
inline constexpr int64_t kNvtxThreadName = 39;
inline constexpr int64_t kNvtxPushPop = 59;
inline constexpr int64_t kNvtxStartEnd = 60;
inline constexpr int64_t kNvtxDomain = 75;
inline constexpr int64_t kNvtxRangeTypes[] = {kNvtxMark, kNvtxPushPop, kNvtxStartEnd};
inline constexpr int64_t kNvtxNameTypes[] = {kNvtxCategory, kNvtxThreadName, kNvtxDomain};
inline constexpr RowFilter kNvtxRanges = {"eventType", kNvtxRangeTypes};
inline constexpr RowFilter kNvtxNames = {"eventType", kNvtxNameTypes};

// Nanoseconds of a century and more; what lies outside is damage, and differences would overflow.
inline constexpr int64_t kTimeLimitNs = int64_t{1} << 62;
inline bool IsTime(const Rows& rows, int column) {
  return rows.IsInt(column) && rows.Int(column) > -kTimeLimitNs && rows.Int(column) < kTimeLimitNs;
}
inline std::optional<int64_t> Time(const Rows& rows, int column) {
  return IsTime(rows, column) ? rows.MaybeInt(column) : std::nullopt;
}

// Rows that cannot be used, and rows mended.
struct RowDefects {
  int64_t untimed_count = 0;   // no start or end, or both zero: the device had no room for them
  int64_t bad_count = 0;       // another required value is missing
  int64_t negative_count = 0;  // ended before they started; taken as instants
  int64_t duplicate_count = 0;
};

// An API call.
struct CallRow {
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  uint32_t thread_id = 0;
  uint32_t process_id = 0;
  std::optional<uint64_t> correlation_id;
  ApiName name;
  bool is_nested = false;
};

// Reads the runtime table in the order (start, longest first). Calls stored under two names are given once: the outer.
class CallRows {
 public:
  // `sort`: the table is not in that order itself.
  static absl::StatusOr<CallRows> Open(Database& database, Identities& identities, Names& names, bool sort);

  bool Next(CallRow& row);
  const absl::Status& status() const { return rows_.status(); }
  const RowDefects& defects() const { return defects_; }
  std::optional<int64_t> return_value() const { return rows_.MaybeInt(5); }
  void GetCallchainId(std::optional<uint32_t>& id) const { rows_.GetId(6, id); }

 private:
  struct OpenCall {
    int64_t end_ns = 0;
    std::optional<uint64_t> correlation_id;
    StringId api{};
  };

  CallRows(Rows rows, Identities& identities, Names& names)
      : rows_(std::move(rows)), identities_(&identities), names_(&names) {}
  bool IsDuplicate(const CallRow& row, const std::vector<OpenCall>& open) const;

  Rows rows_;
  Identities* identities_;
  Names* names_;
  RowDefects defects_;
  std::vector<std::vector<OpenCall>> open_;  // by thread, outermost first
};

// What all records of the GPU side have.
struct GpuRow {
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  uint32_t process_id = 0;
  std::optional<uint32_t> device;  // CUDA's ordinal in that process
  std::optional<uint32_t> context_id;
  std::optional<uint32_t> stream_id;
  std::optional<uint64_t> correlation_id;
};

// Reads a table of kernels, copies, memsets, graph runs or synchronisations. Columns from `kFirstExtra` on are the
// caller's.
class GpuRows {
 public:
  static constexpr int kStream = 4;
  static constexpr int kFirstExtra = 7;

  static absl::StatusOr<GpuRows> Open(Database& database, Identities& identities, const char* table,
                                      std::span<const char* const> extra_columns, bool sort);
  static absl::StatusOr<GpuRows> Open(Database& database, Identities& identities, const char* table,
                                      std::initializer_list<const char*> extra_columns, bool sort) {
    return Open(database, identities, table, std::span(extra_columns.begin(), extra_columns.size()), sort);
  }

  // `needs_stream`: rows without device or stream are not usable.
  bool Next(GpuRow& row, bool needs_stream = true);
  const Rows& rows() const { return rows_; }
  const absl::Status& status() const { return rows_.status(); }
  const RowDefects& defects() const { return defects_; }

 private:
  GpuRows(Rows rows, Identities& identities) : rows_(std::move(rows)), identities_(&identities) {}

  Rows rows_;
  Identities* identities_;
  RowDefects defects_;
};

}  // namespace stallhound::capture::nsys
