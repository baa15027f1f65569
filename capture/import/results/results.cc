#include "capture/import/results/results.h"

#include <fmt/format.h>

#include <utility>

#include "base/content_id.h"
#include "base/status_macros.h"

namespace stallhound::capture {
namespace {

class ResultCapture : public ImportedCapture {
 public:
  explicit ResultCapture(std::unique_ptr<Results> results) : results_(std::move(results)) {}

  const CaptureInfo& info() const override { return results_->info; }
  const StringTable& strings() const override { return results_->strings; }
  absl::Status Read(const TableSet& wanted, CaptureVisitor& visitor) override;
  void AddFacts(ImportCounts& counts) const override;

 private:
  std::unique_ptr<Results> results_;
};

template <typename Batch, typename Row>
absl::Status Emit(const std::vector<Row>& rows, CaptureVisitor& visitor) {
  Batch batch;
  for (const Row& row : rows) {
    batch.Append(row);
    if (batch.size < kBatchRows) continue;
    SH_RETURN_IF_ERROR(visitor.On(batch));
    batch.Clear();
  }
  return batch.size > 0 ? visitor.On(batch) : absl::OkStatus();
}

absl::Status ResultCapture::Read(const TableSet& wanted, CaptureVisitor& visitor) {
  const auto wants = [&](Table table) { return wanted.test(static_cast<size_t>(table)); };
  const Results& results = *results_;
  if (wants(Table::kEnvironment)) SH_RETURN_IF_ERROR(Emit<EnvironmentBatch>(results.environment, visitor));
  if (wants(Table::kDevice)) SH_RETURN_IF_ERROR(Emit<DeviceBatch>(results.device, visitor));
  if (wants(Table::kKernelShape)) SH_RETURN_IF_ERROR(Emit<KernelShapeBatch>(results.kernel_shape, visitor));
  if (wants(Table::kLoss)) SH_RETURN_IF_ERROR(Emit<LossBatch>(results.loss, visitor));
  if (wants(Table::kBenchmarkPoint)) SH_RETURN_IF_ERROR(Emit<BenchmarkPointBatch>(results.benchmark_point, visitor));
  if (wants(Table::kKernelMetric)) SH_RETURN_IF_ERROR(Emit<KernelMetricBatch>(results.kernel_metric, visitor));
  return absl::OkStatus();
}

// Counts of events are unknown here, not zero.
void ResultCapture::AddFacts(ImportCounts& counts) const {
  ImportCounts facts = results_->counts;
  facts.losses = std::move(counts.losses);
  facts.loss_details = std::move(counts.loss_details);
  facts.notes = std::move(counts.notes);
  counts = std::move(facts);
}

std::string Uuid(std::string_view text) {
  constexpr uint64_t kOtherStart = 0x84222325cbf29ce4;
  return ContentUuid(AddFnv(kFnvStart, text), AddFnv(kOtherStart, text));
}

}  // namespace

void Results::AddLoss(LossCounter counter, int64_t count, std::string_view detail) {
  LossRow row;
  row.counter = counter;
  row.count = count;
  row.detail = strings.Intern(detail);
  loss.push_back(row);
}

void Results::AddEnvironment(std::string_view key, std::string_view value) {
  environment.push_back({std::nullopt, strings.Intern(key), strings.Intern(value)});
}

absl::StatusOr<std::unique_ptr<ImportedCapture>> OpenResults(const ImportSource& source, ResultsParser parse) {
  SH_ASSIGN_OR_RETURN(const std::string text, source.ReadAll(kMaxResultBytes));
  absl::StatusOr<std::unique_ptr<Results>> results = parse(text);
  if (!results.ok()) {
    return absl::Status(results.status().code(),
                        fmt::format("importing '{}': {}", source.name(), std::string(results.status().message())));
  }
  CaptureInfo& info = (*results)->info;
  info.uuid = Uuid(text);
  info.recorded = Tables({Table::kEnvironment, Table::kDevice, Table::kKernelShape, Table::kLoss,
                          Table::kBenchmarkPoint, Table::kKernelMetric});
  return std::make_unique<ResultCapture>(*std::move(results));
}

}  // namespace stallhound::capture
