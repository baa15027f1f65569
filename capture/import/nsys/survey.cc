#include "capture/import/nsys/survey.h"

#include <algorithm>

#include "base/content_id.h"
#include "base/status_macros.h"
#include "capture/import/nsys/schema_check.h"
#include "capture/import/nsys/sync_type.h"

namespace stallhound::capture::nsys {
namespace {

class Surveyor {
 public:
  Surveyor(Database& database, Names& names, Survey& survey) : database_(database), names_(names), survey_(survey) {}

  absl::Status Run();

 private:
  void Saw(int64_t start_ns, int64_t end_ns);
  absl::Status Calls();
  absl::StatusOr<bool> CallsIn(bool sorted);
  template <typename Look>
  absl::Status GpuTable(const char* name, std::span<const char* const> columns, TableSurvey& table, Look&& look);
  absl::Status GpuTables();
  absl::Status Syncs();
  absl::Status Ranges();
  absl::Status RangeNames();
  absl::Status Overheads(const char* table);
  absl::Status CudaEvents();
  absl::Status SyncMeanings();
  void CountDefects(const char* table, const RowDefects& defects);
  void CountWholeGraphs();

  Database& database_;
  Names& names_;
  Survey& survey_;
  absl::flat_hash_map<int64_t, SyncType> sync_meanings_;  // the file's own ENUM table
};

void Surveyor::Saw(int64_t start_ns, int64_t end_ns) {
  if (!survey_.first_ns || start_ns < *survey_.first_ns) survey_.first_ns = start_ns;
  if (!survey_.last_ns || end_ns > *survey_.last_ns) survey_.last_ns = end_ns;
  survey_.digest = AddFnv(survey_.digest, static_cast<uint64_t>(start_ns)) + static_cast<uint64_t>(end_ns);
}

void Surveyor::CountDefects(const char* table, const RowDefects& defects) {
  survey_.losses.Add(LossCounter::kZeroTime, table, defects.untimed_count);
  survey_.losses.Add(LossCounter::kBadValue, table, defects.bad_count);
  survey_.losses.Add(LossCounter::kNegativeDuration, table, defects.negative_count);
  survey_.losses.Add(LossCounter::kDuplicateCall, table, defects.duplicate_count);
}

// False: the rows are out of order and `sorted` was not set; nothing was kept.
absl::StatusOr<bool> Surveyor::CallsIn(bool sorted) {
  TableSurvey& table = survey_.runtime;
  SH_ASSIGN_OR_RETURN(CallRows rows, CallRows::Open(database_, survey_.identities, names_, sorted));
  CallRow row;
  int64_t last_start_ns = INT64_MIN;
  int64_t last_end_ns = INT64_MAX;
  while (rows.Next(row)) {
    if (row.start_ns < last_start_ns || (row.start_ns == last_start_ns && row.end_ns > last_end_ns)) {
      if (!sorted) return false;
    }
    last_start_ns = row.start_ns;
    last_end_ns = row.end_ns;
    ++table.row_count;
    Saw(row.start_ns, row.end_ns);
    survey_.identities.Saw(row.process_id, row.start_ns, row.end_ns);
    survey_.api_classes.set(static_cast<size_t>(row.name.api_class));
    if (row.correlation_id) {
      survey_.calls.Add(row.process_id,
                        {*row.correlation_id, row.start_ns, row.end_ns, row.name.api, row.thread_id, 0});
      const auto api = static_cast<size_t>(row.name.api);
      if (api >= survey_.class_of_api.size()) survey_.class_of_api.resize(api + 1);
      survey_.class_of_api[api] = row.name.api_class;
    }
  }
  table.defects = rows.defects();
  SH_RETURN_IF_ERROR(rows.status());
  return true;
}

absl::Status Surveyor::Calls() {
  if (!database_.Has(kRuntimeTable)) return absl::OkStatus();
  survey_.runtime.is_present = true;
  SH_ASSIGN_OR_RETURN(survey_.runtime.is_sorted, CallsIn(false));
  if (!survey_.runtime.is_sorted) {
    survey_.calls = CallIndex();
    survey_.runtime.row_count = 0;
    survey_.digest = 0;
    SH_RETURN_IF_ERROR(CallsIn(true).status());
  }
  survey_.calls.Seal();
  CountDefects(kRuntimeTable, survey_.runtime.defects);
  return absl::OkStatus();
}

// Calls look(rows) for each usable row, its `columns` being those from kFirstExtra on; it returns true
// for work that no call asks for.
template <typename Look>
absl::Status Surveyor::GpuTable(const char* name, std::span<const char* const> columns, TableSurvey& table,
                                Look&& look) {
  if (!database_.Has(name)) return absl::OkStatus();
  table.is_present = true;
  SH_ASSIGN_OR_RETURN(GpuRows rows, GpuRows::Open(database_, survey_.identities, name, columns, false));
  GpuRow row;
  int64_t last_start_ns = INT64_MIN;
  int64_t orphan_count = 0;
  std::tuple<uint32_t, uint32_t, uint32_t> last_stream = {UINT32_MAX, 0, 0};
  while (rows.Next(row)) {
    table.is_sorted &= row.start_ns >= last_start_ns;
    last_start_ns = row.start_ns;
    ++table.row_count;
    Saw(row.start_ns, row.end_ns);
    survey_.identities.Saw(row.process_id, row.start_ns, row.end_ns);
    if (row.context_id) {
      const std::tuple stream = {row.process_id, *row.context_id, *row.stream_id};
      if (stream != last_stream) survey_.streams[stream] = row.device;
      last_stream = stream;
    }
    IndexedCall* call = row.correlation_id ? survey_.calls.Find(row.process_id, *row.correlation_id) : nullptr;
    if (call != nullptr) call->is_joined = 1;
    const bool needs_no_call = look(rows.rows());
    if (call == nullptr && !needs_no_call) ++orphan_count;
  }
  table.defects = rows.defects();
  CountDefects(name, table.defects);
  if (survey_.runtime.is_present) survey_.losses.Add(LossCounter::kKernelWithoutLaunch, name, orphan_count);
  return rows.status();
}

absl::Status Surveyor::GpuTables() {
  constexpr const char* kCopyColumns[] = {"copyKind"};
  const auto nothing = [](const Rows&) { return false; };
  SH_RETURN_IF_ERROR(GpuTable(kKernelTable, Shapes::kColumns, survey_.kernels, [&](const Rows& rows) {
    survey_.shapes.AddKernel(Shapes::KeyOf(rows, GpuRows::kFirstExtra));
    return false;
  }));
  CountWholeGraphs();
  SH_RETURN_IF_ERROR(GpuTable(kCopyTable, kCopyColumns, survey_.copies, [&](const Rows& rows) {
    const std::optional<int64_t> kind = rows.MaybeInt(GpuRows::kFirstExtra);
    return kind && survey_.enums.Copy(*kind).is_migration;
  }));
  SH_RETURN_IF_ERROR(GpuTable(kMemsetTable, {}, survey_.memsets, nothing));
  return GpuTable(kGraphTable, {}, survey_.graphs, nothing);
}

absl::Status Surveyor::SyncMeanings() {
  if (!database_.Has("ENUM_CUPTI_SYNC_TYPE", "name")) return absl::OkStatus();
  SH_ASSIGN_OR_RETURN(Rows rows, database_.Select("ENUM_CUPTI_SYNC_TYPE", {"id", "name"}));
  while (rows.Next()) {
    const std::string_view name = rows.MaybeText(1).value_or("");
    if (name.ends_with("_EVENT_SYNCHRONIZE")) sync_meanings_[rows.Int(0)] = SyncType::kEventSynchronize;
    if (name.ends_with("_STREAM_WAIT_EVENT")) sync_meanings_[rows.Int(0)] = SyncType::kStreamWaitEvent;
    if (name.ends_with("_STREAM_SYNCHRONIZE")) sync_meanings_[rows.Int(0)] = SyncType::kStreamSynchronize;
    if (name.ends_with("_CONTEXT_SYNCHRONIZE")) sync_meanings_[rows.Int(0)] = SyncType::kContextSynchronize;
  }
  return rows.status();
}

absl::Status Surveyor::Syncs() {
  if (!database_.Has(kSyncTable)) return absl::OkStatus();
  SH_RETURN_IF_ERROR(SyncMeanings());
  survey_.syncs.is_present = true;
  SH_ASSIGN_OR_RETURN(GpuRows rows, GpuRows::Open(database_, survey_.identities, kSyncTable, {"syncType"}, false));
  GpuRow row;
  absl::flat_hash_map<std::optional<StringId>, int64_t> syncs_by_api;
  int64_t last_start_ns = INT64_MIN;
  while (rows.Next(row, false)) {
    survey_.syncs.is_sorted &= row.start_ns >= last_start_ns;
    last_start_ns = row.start_ns;
    ++survey_.syncs.row_count;
    Saw(row.start_ns, row.end_ns);
    IndexedCall* call = row.correlation_id ? survey_.calls.Find(row.process_id, *row.correlation_id) : nullptr;
    ++syncs_by_api[call != nullptr ? std::optional(call->api) : std::nullopt];
    if (call == nullptr) continue;
    const std::optional<SyncType> type = SyncTypeOfCall(survey_.ClassOf(*call));
    const auto meaning = sync_meanings_.find(rows.rows().Int(GpuRows::kFirstExtra));
    if (type && *type != SyncType::kUnknown && meaning != sync_meanings_.end() && meaning->second != *type) {
      survey_.losses.Add(LossCounter::kContradictingSync, "syncType of the file against the name of the call");
    }
  }
  for (const auto& [api, count] : syncs_by_api) {
    survey_.syncs_by_call[api ? std::string(names_.Text(*api)) : std::string()] = count;
  }
  survey_.syncs.defects = rows.defects();
  CountDefects(kSyncTable, survey_.syncs.defects);
  return rows.status();
}

absl::Status Surveyor::RangeNames() {
  SH_ASSIGN_OR_RETURN(
      Rows rows,
      database_.Select(kNvtxTable, {"eventType", "globalTid", "domainId", "category", "text", "textId"}, kNvtxNames));
  while (rows.Next()) {
    const std::optional<std::string_view> text = rows.MaybeText(4);
    const std::optional<StringId> name = text            ? std::optional(names_.Intern(*text))
                                         : rows.IsInt(5) ? names_.Find(rows.Int(5))
                                                         : std::nullopt;
    if (!name || !rows.IsInt(1)) continue;
    const int64_t pid = GlobalPid(rows.Int(1));
    if (rows.Int(0) == kNvtxCategory) {
      survey_.categories[{pid, rows.Int(2), rows.Int(3)}] = *name;
    } else if (rows.Int(0) == kNvtxThreadName) {
      survey_.identities.threads()[survey_.identities.ThreadId(rows.Int(1))].name = *name;
    } else {
      survey_.domains[{pid, rows.Int(2)}] = *name;
    }
  }
  return rows.status();
}

absl::Status Surveyor::Ranges() {
  if (!database_.Has(kNvtxTable)) return absl::OkStatus();
  TableSurvey& table = survey_.ranges;
  table.is_present = true;
  SH_ASSIGN_OR_RETURN(Rows rows, database_.Select(kNvtxTable, {"start", "end", "eventType", "globalTid"}));
  int64_t last_start_ns = INT64_MIN;
  int64_t open_count = 0;
  while (rows.Next()) {
    ++survey_.nvtx_row_count;
    const int64_t type = rows.Int(2);
    if (type == kNvtxCategory || type == kNvtxThreadName || type == kNvtxDomain) continue;
    if (type != kNvtxMark && type != kNvtxPushPop && type != kNvtxStartEnd) {
      survey_.losses.Add(LossCounter::kUnknownEvent, "NVTX_EVENTS");
      continue;
    }
    const std::optional<int64_t> start = Time(rows, 0);
    const std::optional<int64_t> end = Time(rows, 1);
    const std::optional<int64_t> global_tid = rows.MaybeInt(3);
    if (!start || !global_tid) {
      ++table.defects.bad_count;
      continue;
    }
    const int64_t start_ns = *start;
    const int64_t end_ns = std::max(end.value_or(start_ns), start_ns);
    if (!end && type != kNvtxMark) ++open_count;
    if (end && *end < start_ns) ++table.defects.negative_count;
    table.is_sorted &= start_ns >= last_start_ns;
    last_start_ns = start_ns;
    ++table.row_count;
    Saw(start_ns, end_ns);
    survey_.identities.ThreadId(*global_tid);
  }
  SH_RETURN_IF_ERROR(rows.status());
  CountDefects(kNvtxTable, table.defects);
  survey_.losses.Add(LossCounter::kOpenRange, kNvtxTable, open_count);
  return RangeNames();
}

// Overheads say nothing of when the recording began, but the capture must end after them.
absl::Status Surveyor::Overheads(const char* table) {
  if (!database_.Has(table, "start")) return absl::OkStatus();
  SH_ASSIGN_OR_RETURN(Rows rows, database_.Select(table, {"start", "end", "globalTid"}));
  while (rows.Next()) {
    const std::optional<int64_t> end_ns = Time(rows, 1);
    if (!Time(rows, 0) || !end_ns || !survey_.first_ns || *end_ns < *survey_.first_ns) continue;
    survey_.last_ns = std::max(*survey_.last_ns, *end_ns);
    rows.IsInt(2) ? survey_.identities.ThreadId(rows.Int(2)) : survey_.identities.ProcessId(std::nullopt);
  }
  return rows.status();
}

absl::Status Surveyor::CudaEvents() {
  if (!database_.Has(kCudaEventTable, "eventId")) return absl::OkStatus();
  SH_ASSIGN_OR_RETURN(Rows rows, database_.Select(kCudaEventTable, {"globalPid"}));
  while (rows.Next()) survey_.identities.ProcessId(rows.MaybeInt(0));
  return rows.status();
}

// A graph launch without any kernel record was traced as a whole, or its graph holds no kernels.
void Surveyor::CountWholeGraphs() {
  survey_.calls.ForEach([&](uint32_t, const IndexedCall& call) {
    if (call.is_joined || survey_.ClassOf(call) != ApiClass::kGraphLaunch) return;
    survey_.losses.AddSpan(LossCounter::kGraphLevelOnly, "graph launches without kernel records", call.start_ns,
                           call.end_ns);
  });
}

absl::Status Surveyor::Run() {
  SH_ASSIGN_OR_RETURN(survey_.metadata, ReadMetadata(database_));
  SH_RETURN_IF_ERROR(CheckSchema(database_, survey_.metadata, survey_.losses));
  SH_ASSIGN_OR_RETURN(survey_.enums, Enums::Read(database_));
  SH_RETURN_IF_ERROR(Calls());
  SH_RETURN_IF_ERROR(GpuTables());
  SH_RETURN_IF_ERROR(Syncs());
  SH_RETURN_IF_ERROR(Ranges());
  SH_RETURN_IF_ERROR(CudaEvents());
  SH_RETURN_IF_ERROR(Overheads(kOverheadTable));
  SH_RETURN_IF_ERROR(Overheads(kProfilerTable));
  for (const Diagnostic& warning : survey_.metadata.warnings) {
    survey_.losses.Add(LossCounter::kForeignDiagnostic, warning.text);
  }
  if (database_.is_cut()) survey_.losses.Add(LossCounter::kTruncatedFile, "pages of the database are missing");
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Survey> SurveyExport(Database& database, Names& names) {
  Survey survey;
  SH_RETURN_IF_ERROR(Surveyor(database, names, survey).Run());
  return survey;
}

}  // namespace stallhound::capture::nsys
