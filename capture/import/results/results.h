#pragma once

// Results without a timeline (benchmark numbers, kernel metrics) as a recording: they go into a capture file like any
// other, where one SQL statement sees them beside the kernels they belong to.

#include <absl/status/statusor.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "capture/import/importer.h"
#include "capture/reader.h"

namespace stallhound::capture {

// Larger result files are not what they seem.
inline constexpr uint64_t kMaxResultBytes = uint64_t{512} << 20;

// What a parser found. Rows are in the order of the file.
struct Results {
  StringTable strings;
  CaptureInfo info;  // format, producer, notes; the rest is filled by OpenResults
  std::vector<EnvironmentRow> environment;
  std::vector<DeviceRow> device;
  std::vector<KernelShapeRow> kernel_shape;
  std::vector<LossRow> loss;
  std::vector<BenchmarkPointRow> benchmark_point;
  std::vector<KernelMetricRow> kernel_metric;
  ImportCounts counts;  // format and facts

  void AddLoss(LossCounter counter, int64_t count, std::string_view detail);
  void AddEnvironment(std::string_view key, std::string_view value);
};

using ResultsParser = absl::StatusOr<std::unique_ptr<Results>> (*)(std::string_view text);

// Reads the whole source, parses it and wraps what was found. Holds all rows. Errors: the parser's, and OutOfRange for
// files above kMaxResultBytes.
absl::StatusOr<std::unique_ptr<ImportedCapture>> OpenResults(const ImportSource& source, ResultsParser parse);

}  // namespace stallhound::capture
