#include "capture/import/nsys/event_rows.h"

#include <algorithm>
#include <utility>

#include "base/status_macros.h"

namespace stallhound::capture::nsys {

absl::StatusOr<CallRows> CallRows::Open(Database& database, Identities& identities, Names& names, bool sort) {
  SH_ASSIGN_OR_RETURN(
      Rows rows, database.Select(kRuntimeTable,
                                 {"start", "end", "globalTid", "correlationId", "nameId", "returnValue", "callchainId"},
                                 {}, sort ? RowOrder::kByStartLongestFirst : RowOrder::kStorage));
  return CallRows(std::move(rows), identities, names);
}

bool CallRows::IsDuplicate(const CallRow& row, const std::vector<OpenCall>& open) const {
  if (!row.correlation_id) return false;
  constexpr size_t kDepth = 4;  // a call and its second name are neighbours
  const size_t first = open.size() > kDepth ? open.size() - kDepth : 0;
  return std::any_of(open.begin() + static_cast<std::ptrdiff_t>(first), open.end(), [&](const OpenCall& outer) {
    return outer.correlation_id == row.correlation_id && outer.api == row.name.api;
  });
}

bool CallRows::Next(CallRow& row) {
  while (rows_.Next()) {
    if (!IsTime(rows_, 0) || !IsTime(rows_, 1) || !rows_.IsInt(2)) {
      ++defects_.bad_count;
      continue;
    }
    row.start_ns = rows_.Int(0);
    row.end_ns = rows_.Int(1);
    if (row.end_ns < row.start_ns) {
      ++defects_.negative_count;
      row.end_ns = row.start_ns;
    }
    row.thread_id = identities_->ThreadId(rows_.Int(2));
    row.process_id = identities_->threads()[row.thread_id].process_id;
    rows_.GetUnsigned(3, row.correlation_id);
    row.name = names_->Api(rows_.Int(4));

    if (row.thread_id >= open_.size()) open_.resize(row.thread_id + size_t{1});
    std::vector<OpenCall>& open = open_[row.thread_id];
    while (!open.empty() && open.back().end_ns < row.end_ns) open.pop_back();
    while (!open.empty() && open.back().end_ns <= row.start_ns) open.pop_back();
    if (IsDuplicate(row, open)) {
      ++defects_.duplicate_count;
      continue;
    }
    row.is_nested = !open.empty();
    OpenCall& call = open.emplace_back();
    call.end_ns = row.end_ns;
    call.correlation_id = row.correlation_id;
    call.api = row.name.api;
    return true;
  }
  return false;
}

absl::StatusOr<GpuRows> GpuRows::Open(Database& database, Identities& identities, const char* table,
                                      std::span<const char* const> extra_columns, bool sort) {
  std::vector<const char*> columns = {"start",    "end",           "deviceId", "contextId",
                                      "streamId", "correlationId", "globalPid"};
  columns.insert(columns.end(), extra_columns.begin(), extra_columns.end());
  SH_ASSIGN_OR_RETURN(Rows rows, database.Select(table, columns, {}, sort ? RowOrder::kByStart : RowOrder::kStorage));
  return GpuRows(std::move(rows), identities);
}

bool GpuRows::Next(GpuRow& row, bool needs_stream) {
  while (rows_.Next()) {
    row.start_ns = rows_.Int(0);
    row.end_ns = rows_.Int(1);
    if (!IsTime(rows_, 0) || !IsTime(rows_, 1) || (row.start_ns == 0 && row.end_ns == 0)) {
      ++defects_.untimed_count;
      continue;
    }
    rows_.GetId(2, row.device);
    rows_.GetId(3, row.context_id);
    rows_.GetId(kStream, row.stream_id);
    if (needs_stream && (!row.device || !row.stream_id)) {
      ++defects_.bad_count;
      continue;
    }
    if (row.end_ns < row.start_ns) {
      ++defects_.negative_count;
      row.end_ns = row.start_ns;
    }
    rows_.GetUnsigned(5, row.correlation_id);
    row.process_id = identities_->ProcessId(rows_.MaybeInt(6));
    return true;
  }
  return false;
}

}  // namespace stallhound::capture::nsys
