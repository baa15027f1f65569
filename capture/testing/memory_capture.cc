#include "capture/testing/memory_capture.h"

#include <optional>

#include "base/status_macros.h"

namespace stallhound::capture {
namespace {

template <typename Row>
std::optional<int64_t> TimeOf(const Row& row) {
  if constexpr (requires { row.start_ns; } && !std::is_same_v<Row, ProcessRow> && !std::is_same_v<Row, LossRow>) {
    return row.start_ns;
  } else if constexpr (requires { row.time_ns; }) {
    return row.time_ns;
  } else {
    return std::nullopt;
  }
}

template <typename Batch, typename Row>
absl::Status Stream(std::vector<Row>& rows, size_t batch_rows, CaptureVisitor& visitor) {
  std::stable_sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) { return TimeOf(a) < TimeOf(b); });
  Batch batch;
  for (const Row& row : rows) {
    batch.Append(row);
    if (batch.size < batch_rows) continue;
    SH_RETURN_IF_ERROR(visitor.On(batch));
    batch.Clear();
  }
  return batch.size > 0 ? visitor.On(batch) : absl::OkStatus();
}

}  // namespace

MemoryCapture::MemoryCapture() {
  info_.uuid = "00000000-0000-4000-8000-000000000000";
  info_.format = "memory";
  info_.format_version = "1";
  info_.producer = "stallhound test";
  info_.mode = "default";
}

absl::Status MemoryCapture::Read(const TableSet& wanted, CaptureVisitor& visitor) {
#define SH_MEMORY_READ(Type, table, COLUMNS)                                        \
  if (wanted.test(static_cast<size_t>(Table::k##Type))) {                           \
    ++read_counts_[static_cast<size_t>(Table::k##Type)];                            \
    SH_RETURN_IF_ERROR((Stream<Type##Batch>(table##_rows_, batch_rows_, visitor))); \
  }
  SH_CAPTURE_TABLES(SH_MEMORY_READ)
#undef SH_MEMORY_READ
  return absl::OkStatus();
}

}  // namespace stallhound::capture
