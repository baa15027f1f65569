#include "capture/import/results/ncu_csv.h"

#include <absl/container/flat_hash_map.h>
#include <absl/strings/numbers.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "base/status_macros.h"
#include "capture/import/results/csv.h"

namespace stallhound::capture {
namespace {

using Extent = std::array<std::optional<int64_t>, 3>;

// "4,963,609,951.19": digits are grouped.
std::optional<double> Number(std::string text) {
  text.erase(std::remove(text.begin(), text.end(), ','), text.end());
  double number = 0;
  if (!absl::SimpleAtod(text, &number) || !std::isfinite(number)) return std::nullopt;
  return number;
}

// "(1024, 1, 1)", or "1024, 1, 1" in old versions.
Extent ExtentOf(std::string_view text) {
  Extent extent;
  size_t at = 0;
  for (std::optional<int64_t>& side : extent) {
    at = std::min(text.find_first_of("0123456789", at), text.size());
    int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data() + at, text.data() + text.size(), value);
    if (error != std::errc()) return {};
    side = value;
    at = static_cast<size_t>(end - text.data());
  }
  return extent;
}

// Columns that describe the launch; in the raw page all others are metrics.
enum LaunchColumn { kId, kKernelName, kBlockSize, kGridSize, kDevice, kLaunchColumnCount };
constexpr const char* kLaunchColumns[] = {"ID", "Kernel Name", "Block Size", "Grid Size", "Device"};
constexpr std::string_view kOtherColumns[] = {"Process ID", "Process Name", "Host Name",    "Kernel Time",  "Context",
                                              "Stream",     "CC",           "Section Name", "Function Name"};

class Reader {
 public:
  explicit Reader(Results& results) : results_(results) {}

  // False: `header` is no header of Nsight Compute's.
  bool SetHeader(const std::vector<std::string>& header);
  void Record(const std::vector<std::string>& fields);
  void Finish();

 private:
  struct Launch {
    int64_t index = 0;
    uint32_t shape_id = 0;
    std::optional<uint32_t> device_id;
  };

  std::optional<size_t> Find(std::string_view column) const;
  std::string_view Field(const std::vector<std::string>& fields, std::optional<size_t> column) const;
  std::optional<Launch> LaunchOf(const std::vector<std::string>& fields);
  void Metric(const Launch& launch, std::string_view section, std::string_view name, std::string_view unit,
              const std::string& value);

  Results& results_;
  std::vector<std::string> header_;
  std::array<std::optional<size_t>, kLaunchColumnCount> launch_columns_;
  std::optional<size_t> section_, metric_, unit_, value_;
  std::vector<std::string> raw_units_;  // of the raw page, by column; its second line
  bool has_raw_units_ = false;
  std::map<std::tuple<std::string, Extent, Extent>, uint32_t> shapes_;
  absl::flat_hash_map<std::string, int64_t> launches_;
  int64_t rule_count_ = 0;
};

std::optional<size_t> Reader::Find(std::string_view column) const {
  const auto it = std::find(header_.begin(), header_.end(), column);
  return it != header_.end() ? std::optional(static_cast<size_t>(it - header_.begin())) : std::nullopt;
}

std::string_view Reader::Field(const std::vector<std::string>& fields, std::optional<size_t> column) const {
  return column && *column < fields.size() ? std::string_view(fields[*column]) : std::string_view();
}

bool Reader::SetHeader(const std::vector<std::string>& header) {
  header_ = header;
  for (size_t i = 0; i < launch_columns_.size(); ++i) launch_columns_[i] = Find(kLaunchColumns[i]);
  section_ = Find("Section Name");
  metric_ = Find("Metric Name");
  unit_ = Find("Metric Unit");
  value_ = Find("Metric Value");
  return launch_columns_[kId] && launch_columns_[kKernelName];
}

std::optional<Reader::Launch> Reader::LaunchOf(const std::vector<std::string>& fields) {
  const std::string id(Field(fields, launch_columns_[kId]));
  if (id.empty()) return std::nullopt;
  Launch launch;
  launch.index = launches_.try_emplace(id, static_cast<int64_t>(launches_.size())).first->second;
  const std::string name(Field(fields, launch_columns_[kKernelName]));
  const Extent grid = ExtentOf(Field(fields, launch_columns_[kGridSize]));
  const Extent block = ExtentOf(Field(fields, launch_columns_[kBlockSize]));
  const auto [shape, is_new] = shapes_.try_emplace({name, grid, block}, static_cast<uint32_t>(shapes_.size()));
  launch.shape_id = shape->second;
  if (is_new) {
    KernelShapeRow row;
    row.kernel_shape_id = launch.shape_id;
    row.name = results_.strings.Intern(name);
    std::tie(row.grid_x, row.grid_y, row.grid_z) = std::tie(grid[0], grid[1], grid[2]);
    std::tie(row.block_x, row.block_y, row.block_z) = std::tie(block[0], block[1], block[2]);
    results_.kernel_shape.push_back(row);
  }
  uint32_t device = 0;
  const std::string_view text = Field(fields, launch_columns_[kDevice]);
  if (std::from_chars(text.data(), text.data() + text.size(), device).ec == std::errc()) launch.device_id = device;
  return launch;
}

void Reader::Metric(const Launch& launch, std::string_view section, std::string_view name, std::string_view unit,
                    const std::string& value) {
  KernelMetricRow row;
  row.kernel_shape_id = launch.shape_id;
  row.launch_index = launch.index;
  row.device_id = launch.device_id;
  row.metric = results_.strings.Intern(name);
  if (!section.empty()) row.section = results_.strings.Intern(section);
  if (!unit.empty()) row.unit = results_.strings.Intern(unit);
  row.value = Number(value);
  if (!row.value && !value.empty()) row.text = results_.strings.Intern(value);
  results_.kernel_metric.push_back(row);
}

void Reader::Record(const std::vector<std::string>& fields) {
  const std::optional<Launch> launch = LaunchOf(fields);
  if (metric_) {
    const std::string_view name = Field(fields, metric_);
    if (name.empty()) ++rule_count_;
    if (!launch || name.empty()) return;
    Metric(*launch, Field(fields, section_), name, Field(fields, unit_), std::string(Field(fields, value_)));
    return;
  }
  if (!launch) {
    // The line of units has no id.
    if (!has_raw_units_) raw_units_ = fields;
    has_raw_units_ = true;
    return;
  }
  for (size_t i = 0; i < std::min(fields.size(), header_.size()); ++i) {
    const std::string_view name = header_[i];
    const bool is_metric =
        std::find(std::begin(kLaunchColumns), std::end(kLaunchColumns), name) == std::end(kLaunchColumns) &&
        std::find(std::begin(kOtherColumns), std::end(kOtherColumns), name) == std::end(kOtherColumns);
    if (is_metric && !fields[i].empty()) Metric(*launch, "", name, Field(raw_units_, i), fields[i]);
  }
}

void Reader::Finish() {
  results_.counts.format = "ncu csv";
  results_.counts.numbers.emplace_back("profiled_launches", static_cast<int64_t>(launches_.size()));
  results_.counts.numbers.emplace_back("kernel_shapes", static_cast<int64_t>(shapes_.size()));
  results_.counts.numbers.emplace_back("metrics", static_cast<int64_t>(results_.kernel_metric.size()));
  results_.counts.numbers.emplace_back("rules", rule_count_);
}

size_t TableStart(std::string_view text) {
  constexpr std::string_view kHeader = "\"ID\",";
  for (size_t at = text.find(kHeader); at != std::string_view::npos; at = text.find(kHeader, at + 1)) {
    if (at == 0 || text[at - 1] == '\n') return at;
  }
  return 0;
}

Confidence Sniff(const ImportSource& source) {
  const std::string_view head = source.head();
  const auto has = [&](std::string_view word) { return head.find(word) != std::string_view::npos; };
  if (!has("\"Kernel Name\"") || !has("\"ID\"")) return Confidence::kNo;
  return has("\"Metric Name\"") || has("\"Grid Size\"") || has("__") ? Confidence::kCertain : Confidence::kLikely;
}

absl::StatusOr<std::unique_ptr<ImportedCapture>> Open(std::shared_ptr<ImportSource> source) {
  return OpenResults(*source, ParseNcuCsv);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Results>> ParseNcuCsv(std::string_view text) {
  auto results = std::make_unique<Results>();
  results->info.format = "ncu";
  results->info.format_version = "unknown";
  results->info.producer = "ncu";
  Reader reader(*results);
  // The program's own output and "==PROF==" lines stand before the table.
  CsvReader csv(text.substr(TableStart(text)));
  std::vector<std::string> fields;
  bool has_header = false;
  while (csv.Next(fields)) {
    if (!has_header) {
      has_header = reader.SetHeader(fields);
    } else if (fields.size() > 1) {
      reader.Record(fields);
    }
  }
  if (!has_header) {
    return absl::InvalidArgumentError("reading Nsight Compute CSV: no line has the columns ID and Kernel Name");
  }
  if (csv.is_cut()) {
    return absl::DataLossError(
        fmt::format("reading Nsight Compute CSV: the file is truncated: a quoted field that begins in line {} does not "
                    "end",
                    csv.line()));
  }
  reader.Finish();
  return results;
}

Importer NcuCsvImporter() {
  return {.format = "ncu", .description = "Nsight Compute CSV", .sniff = Sniff, .open = Open};
}

}  // namespace stallhound::capture
