#include "capture/import/nsys/capture_info.h"

#include "base/content_id.h"
#include "base/status_macros.h"
#include "capture/import/nsys/dimensions.h"

namespace stallhound::capture::nsys {
namespace {

// From the content: the digest of all times, and the sizes of the tables.
std::string Uuid(const Survey& survey) {
  uint64_t sizes = kFnvStart;
  for (const TableSurvey* table : {&survey.runtime, &survey.kernels, &survey.copies, &survey.memsets, &survey.syncs,
                                   &survey.graphs, &survey.ranges}) {
    sizes = AddFnv(sizes, static_cast<uint64_t>(table->row_count));
  }
  return ContentUuid(survey.digest, AddFnv(sizes, survey.metadata.schema_version));
}

bool Called(const Survey& survey, std::initializer_list<ApiClass> classes) {
  for (ApiClass api_class : classes) {
    if (survey.api_classes.test(static_cast<size_t>(api_class))) return true;
  }
  return false;
}

bool HasCuda(const Survey& survey) {
  return survey.runtime.is_present || survey.kernels.is_present || survey.copies.is_present ||
         survey.memsets.is_present || survey.syncs.is_present || survey.graphs.is_present;
}

TableSet Recorded(const Database& database, const Survey& survey) {
  TableSet recorded = Tables({Table::kProcess, Table::kThread, Table::kLoss});
  const auto set = [&](Table table, bool is_recorded) { recorded.set(static_cast<size_t>(table), is_recorded); };
  const bool has_calls = survey.runtime.row_count > 0;
  const bool has_whole_graphs = survey.graphs.is_present || survey.metadata.has_whole_graphs;
  set(Table::kDevice, HasCuda(survey) || database.Has("TARGET_INFO_GPU"));
  set(Table::kStream, HasCuda(survey));
  set(Table::kHostCall, has_calls);
  const bool has_launches = Called(survey, {ApiClass::kKernelLaunch});
  set(Table::kKernel, survey.kernels.is_present || (has_calls && !has_launches));
  set(Table::kKernelShape, recorded.test(static_cast<size_t>(Table::kKernel)));
  set(Table::kCopy,
      survey.copies.is_present || (has_calls && !Called(survey, {ApiClass::kCopyAsync, ApiClass::kCopyBlocking})));
  set(Table::kMemset, survey.memsets.is_present || (has_calls && !Called(survey, {ApiClass::kMemset})));
  set(Table::kSync,
      survey.syncs.is_present || (has_calls && !Called(survey, {ApiClass::kDeviceSync, ApiClass::kStreamSync,
                                                                ApiClass::kEventSync, ApiClass::kStreamWaitEvent})));
  set(Table::kCudaEvent, database.Has(kCudaEventTable));
  set(Table::kOverhead, database.Has(kOverheadTable) || database.Has(kProfilerTable));
  set(Table::kRange, survey.ranges.is_present);
  set(Table::kFrame, database.Has(kCallchainTable));
  set(Table::kStackFrame, database.Has(kCallchainTable));
  set(Table::kGraphRun, survey.graphs.is_present || (has_calls && has_whole_graphs));
  return recorded;
}

void AddNotes(const Survey& survey, CaptureInfo& info) {
  const auto lacks = [&](Table table) { return !info.recorded.test(static_cast<size_t>(table)); };
  const auto note = [&](bool condition, const char* sentence) {
    if (condition) info.notes.push_back(sentence);
  };
  if (!HasCuda(survey)) {
    info.notes.push_back("this export holds no CUDA events: neither GPU work nor API calls were recorded");
    return;
  }
  note(lacks(Table::kHostCall), "this export holds no API calls: host waits and their cost cannot be told");
  note(lacks(Table::kKernel), "this export holds kernel launches but no kernels: GPU idle cannot be told");
  note(lacks(Table::kCopy), "this export holds copy calls but no copies: pageable copies cannot be told");
  note(lacks(Table::kSync) && !lacks(Table::kHostCall),
       "this export holds no synchronisation records: which stream or event a wait was for is unknown, and pageable "
       "stalls are inferred from call durations");
  note(survey.copies.row_count > 0 && !survey.enums.has_memory_kinds(),
       "this export does not say which memory is pageable: asynchronous pageable copies cannot be told from pinned "
       "ones");
  note(survey.graphs.row_count > 0 || (survey.metadata.has_whole_graphs && Called(survey, {ApiClass::kGraphLaunch})),
       "graphs were traced as a whole (nsys --cuda-graph-trace=graph): kernels and idle inside them are unknown (hint: "
       "record with --cuda-graph-trace=node)");
  note(lacks(Table::kStackFrame),
       "this export holds no call stacks: no line of code can be named (hint: record with nsys --cudabacktrace=all, or "
       "with `stallhound hunt`)");
}

}  // namespace

absl::StatusOr<CaptureInfo> Describe(Database& database, const Survey& survey) {
  CaptureInfo info;
  info.uuid = Uuid(survey);
  info.format = "nsys";
  info.format_version = survey.metadata.schema_version.empty() ? "unknown" : survey.metadata.schema_version;
  info.producer = survey.metadata.product_version.empty() ? "nsys" : "nsys " + survey.metadata.product_version;
  const int64_t zero_ns = survey.first_ns.value_or(0);
  if (survey.metadata.epoch_ns) info.epoch_ns = *survey.metadata.epoch_ns + zero_ns;
  info.end_ns = survey.last_ns.value_or(zero_ns) - zero_ns;
  info.recorded = Recorded(database, survey);
  AddNotes(survey, info);
  return info;
}

}  // namespace stallhound::capture::nsys
