#include "capture/import/nsys/nsys.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/status_macros.h"
#include "capture/import/nsys/capture_info.h"
#include "capture/import/nsys/dimensions.h"
#include "capture/import/nsys/emitter.h"
#include "capture/import/nsys/events.h"

namespace stallhound::capture {
namespace nsys {
namespace {

class NsysCapture : public ImportedCapture {
 public:
  static absl::StatusOr<std::unique_ptr<ImportedCapture>> Open(std::shared_ptr<ImportSource> source);

  const CaptureInfo& info() const override { return info_; }
  const StringTable& strings() const override { return strings_; }
  absl::Status Read(const TableSet& wanted, CaptureVisitor& visitor) override;
  void AddFacts(ImportCounts& counts) const override;
  CountRules count_rules() const override {
    return {.driver_calls_in_runtime_calls = true, .cuda_sync_by_kind = false};
  }

 private:
  NsysCapture() = default;
  absl::Status ReadDimensions(const TableSet& wanted, const EventContext& context, CaptureVisitor& visitor);
  absl::Status ReadEvents(const TableSet& wanted, const EventContext& context, CaptureVisitor& visitor);
  absl::Status EmitLosses(CaptureVisitor& visitor);

  std::shared_ptr<ImportSource> source_;  // owns the file, which may be temporary
  std::unique_ptr<Database> database_;
  StringTable strings_;
  std::unique_ptr<Names> names_;
  Survey survey_;
  Devices devices_;
  CaptureInfo info_;
};

absl::StatusOr<std::unique_ptr<ImportedCapture>> NsysCapture::Open(std::shared_ptr<ImportSource> source) {
  auto capture = std::unique_ptr<NsysCapture>(new NsysCapture());
  SH_ASSIGN_OR_RETURN(const std::filesystem::path path, source->LocalFile());
  SH_ASSIGN_OR_RETURN(capture->database_, Database::Open(path, source->options().partial));
  capture->source_ = std::move(source);
  Database& database = *capture->database_;
  capture->names_ = std::make_unique<Names>(database, capture->strings_);
  SH_ASSIGN_OR_RETURN(capture->survey_, SurveyExport(database, *capture->names_));
  SH_RETURN_IF_ERROR(ReadNames(database, *capture->names_, capture->survey_.identities));
  SH_ASSIGN_OR_RETURN(capture->devices_, Devices::Read(database, capture->survey_));
  SH_ASSIGN_OR_RETURN(capture->info_, Describe(database, capture->survey_));
  return capture;
}

absl::Status NsysCapture::EmitLosses(CaptureVisitor& visitor) {
  const int64_t zero_ns = survey_.first_ns.value_or(0);
  Emitter<LossBatch> emitter(visitor);
  for (const Loss& loss : survey_.losses.List()) {
    LossRow row;
    row.counter = loss.counter;
    row.count = loss.count;
    if (loss.first_ns) row.start_ns = *loss.first_ns - zero_ns;
    if (loss.last_ns) row.end_ns = *loss.last_ns - zero_ns;
    if (!loss.detail.empty()) row.detail = strings_.Intern(loss.detail);
    SH_RETURN_IF_ERROR(emitter.Add(row));
  }
  return emitter.Flush();
}

absl::Status NsysCapture::ReadDimensions(const TableSet& wanted, const EventContext& context, CaptureVisitor& visitor) {
  const auto wants = [&](Table table) { return wanted.test(static_cast<size_t>(table)); };
  SH_RETURN_IF_ERROR(EmitIdentities(survey_.identities, context.zero_ns, wanted, visitor));
  if (wants(Table::kDevice)) SH_RETURN_IF_ERROR(devices_.Emit(survey_, strings_, visitor));
  if (wants(Table::kStream)) SH_RETURN_IF_ERROR(EmitStreams(*database_, survey_, devices_, visitor));
  if (wants(Table::kKernelShape)) {
    SH_RETURN_IF_ERROR(survey_.shapes.Emit(*names_, visitor));
  }
  if (wants(Table::kFrame) || wants(Table::kStackFrame)) {
    SH_RETURN_IF_ERROR(EmitCallchains(*database_, *names_, wanted, visitor));
  }
  if (wants(Table::kLoss)) SH_RETURN_IF_ERROR(EmitLosses(visitor));
  return absl::OkStatus();
}

absl::Status NsysCapture::ReadEvents(const TableSet& wanted, const EventContext& context, CaptureVisitor& visitor) {
  constexpr std::pair<Table, absl::Status (*)(const EventContext&, CaptureVisitor&)> kEvents[] = {
      {Table::kRange, EmitRanges},         {Table::kHostCall, EmitHostCalls}, {Table::kKernel, EmitKernels},
      {Table::kCopy, EmitCopies},          {Table::kMemset, EmitMemsets},     {Table::kSync, EmitSyncs},
      {Table::kCudaEvent, EmitCudaEvents}, {Table::kOverhead, EmitOverheads}, {Table::kGraphRun, EmitGraphRuns},
  };
  for (const auto& [table, emit] : kEvents) {
    if (wanted.test(static_cast<size_t>(table))) SH_RETURN_IF_ERROR(emit(context, visitor));
  }
  return absl::OkStatus();
}

absl::Status NsysCapture::Read(const TableSet& wanted, CaptureVisitor& visitor) {
  const EventContext context = {*database_, *names_, survey_, devices_, survey_.first_ns.value_or(0)};
  SH_RETURN_IF_ERROR(ReadDimensions(wanted, context, visitor));
  return ReadEvents(wanted, context, visitor);
}

void NsysCapture::AddFacts(ImportCounts& counts) const {
  counts.format = "nsys sqlite";
  // Kernels without times are in no table of the capture, but the file has them.
  if (counts.kernels) *counts.kernels += survey_.kernels.defects.untimed_count;
  counts.numbers.emplace_back("tables", static_cast<int64_t>(database_->Tables().size()));
  if (survey_.kernels.is_present) {
    counts.numbers.emplace_back("kernel_columns", static_cast<int64_t>(database_->Columns(kKernelTable).size()));
  }
  if (survey_.syncs.is_present) counts.numbers.emplace_back("sync_rows", survey_.syncs.row_count);
  if (survey_.runtime.is_present) {
    counts.numbers.emplace_back("runtime_rows", survey_.runtime.row_count + survey_.runtime.defects.duplicate_count);
  }
  if (survey_.ranges.is_present) counts.numbers.emplace_back("nvtx_rows", survey_.nvtx_row_count);
  counts.numbers.emplace_back("gpus", devices_.gpu_names() ? std::optional(devices_.gpu_count()) : std::nullopt);
  counts.texts.emplace_back("metadata_table", survey_.metadata.table);
  counts.texts.emplace_back("schema", survey_.metadata.schema_version);
  counts.lists.emplace_back("gpu", devices_.gpu_names());
  if (survey_.syncs.is_present) {
    std::map<std::string, double> by_call;
    for (const auto& [call, count] : survey_.syncs_by_call) {
      by_call[call.empty() ? "no call recorded" : call] = static_cast<double>(count);
    }
    counts.maps.emplace_back("sync_rows_by_call", std::move(by_call));
  }
}

Confidence Sniff(const ImportSource& source) {
  constexpr std::string_view kMagic("SQLite format 3", 16);
  if (!source.head().starts_with(kMagic)) return Confidence::kNo;
  for (const std::string_view word : {"StringIds", "META_DATA_EXPORT", "EXPORT_META_DATA", "CUPTI_ACTIVITY_KIND_"}) {
    if (source.head().find(word) != std::string_view::npos) return Confidence::kCertain;
  }
  return Confidence::kLikely;
}

}  // namespace
}  // namespace nsys

Importer NsysImporter() {
  return {.format = "nsys",
          .description = "Nsight Systems SQLite export",
          .sniff = nsys::Sniff,
          .open = nsys::NsysCapture::Open};
}

}  // namespace stallhound::capture
