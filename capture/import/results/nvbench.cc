#include "capture/import/results/nvbench.h"

#include <absl/strings/numbers.h>
#include <fmt/format.h>
#include <simdjson.h>

#include <cmath>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "base/status_macros.h"

namespace stallhound::capture {
namespace {

using simdjson::dom::array;
using simdjson::dom::element;
using simdjson::dom::object;

// Absent members read as the empty string, list or object.
template <typename Value>
Value Member(const object& parent, std::string_view key) {
  Value value{};
  return parent.at_key(key).get(value) == simdjson::SUCCESS ? value : Value{};
}

template <typename Visit>
void ForEachObject(const object& parent, std::string_view key, Visit visit) {
  array list;
  if (parent.at_key(key).get(list) != simdjson::SUCCESS) return;
  for (const element entry : list) {
    if (object fields; entry.get(fields) == simdjson::SUCCESS) visit(fields);
  }
}

std::optional<int64_t> Integer(const object& parent, std::string_view key) {
  int64_t value = 0;
  if (parent.at_key(key).get(value) != simdjson::SUCCESS) return std::nullopt;
  return value;
}

// As a number or as the text of one.
std::optional<double> Number(const object& parent, std::string_view key) {
  element value;
  if (parent.at_key(key).get(value) != simdjson::SUCCESS) return std::nullopt;
  double number = 0;
  std::string_view text;
  if (value.get(text) == simdjson::SUCCESS) {
    if (!absl::SimpleAtod(absl::string_view(text.data(), text.size()), &number)) return std::nullopt;
  } else if (value.get(number) != simdjson::SUCCESS) {
    return std::nullopt;
  }
  return std::isfinite(number) ? std::optional(number) : std::nullopt;
}

struct Unit {
  const char* name;
  double factor;
};
std::optional<Unit> UnitOf(std::string_view hint) {
  if (hint == "duration") return Unit{"ns", 1e9};
  if (hint == "percentage") return Unit{"ratio", 1};
  if (hint == "item_rate") return Unit{"items/s", 1};
  if (hint == "byte_rate") return Unit{"bytes/s", 1};
  if (hint == "bytes") return Unit{"bytes", 1};
  if (hint == "sample_size" || hint == "count") return Unit{"count", 1};
  return std::nullopt;
}

class Reader {
 public:
  explicit Reader(Results& results) : results_(results) {}

  void Device(const object& device);
  void Benchmark(const object& benchmark);
  void Finish();

 private:
  void State(std::string_view benchmark, const object& state);
  void Summary(const object& summary, const BenchmarkPointRow& state);

  Results& results_;
  int64_t benchmark_count_ = 0;
  int64_t state_count_ = 0;
  int64_t skipped_count_ = 0;
  int64_t invalid_count_ = 0;
};

void Reader::Device(const object& device) {
  const std::optional<int64_t> id = Integer(device, "id");
  if (!id || *id < 0 || *id > UINT32_MAX) return;
  DeviceRow row;
  row.device_id = static_cast<uint32_t>(*id);
  row.name = results_.strings.Intern(Member<std::string_view>(device, "name"));
  row.sm_count = Integer(device, "number_of_sms");
  row.memory_bytes = Integer(device, "global_memory_size");
  if (const std::optional<int64_t> version = Integer(device, "sm_version")) {
    row.compute_major = *version / 100;
    row.compute_minor = *version % 100 / 10;
  }
  results_.device.push_back(row);
}

void Reader::Summary(const object& summary, const BenchmarkPointRow& state) {
  const std::string tag(Member<std::string_view>(summary, "tag"));
  const std::optional<Unit> unit = UnitOf(Member<std::string_view>(summary, "hint"));
  ForEachObject(summary, "data", [&](const object& data) {
    const std::string_view type = Member<std::string_view>(data, "type");
    if (type == "string") return;  // a file's name, not a number
    BenchmarkPointRow row = state;
    const std::string_view name = Member<std::string_view>(data, "name");
    row.metric = results_.strings.Intern(name == "value" || name.empty() ? tag : fmt::format("{}/{}", tag, name));
    row.value = Number(data, "value");
    if (row.value && unit) row.value = *row.value * unit->factor;
    if (unit) row.unit = results_.strings.Intern(unit->name);
    for (const std::string_view aggregate : {"mean", "median", "min", "max"}) {
      if (tag.ends_with(fmt::format("/{}", aggregate))) row.aggregate = results_.strings.Intern(aggregate);
    }
    if (!row.value) {
      row.error = results_.strings.Intern("no number");
      ++invalid_count_;
    }
    results_.benchmark_point.push_back(row);
  });
}

void Reader::State(std::string_view benchmark, const object& state) {
  ++state_count_;
  BenchmarkPointRow row;
  row.benchmark = results_.strings.Intern(fmt::format("{}/{}", benchmark, Member<std::string_view>(state, "name")));
  if (const auto device = Integer(state, "device"); device && *device >= 0 && *device <= UINT32_MAX) {
    row.device_id = static_cast<uint32_t>(*device);
  }
  bool is_skipped = false;
  if (state.at_key("is_skipped").get(is_skipped) == simdjson::SUCCESS && is_skipped) {
    ++skipped_count_;
    const std::string_view reason = Member<std::string_view>(state, "skip_reason");
    row.metric = results_.strings.Intern("nv/cold/time/gpu/mean");
    row.error = results_.strings.Intern(reason.empty() ? "skipped" : reason);
    results_.benchmark_point.push_back(row);
    return;
  }
  ForEachObject(state, "summaries", [&](const object& summary) { Summary(summary, row); });
}

void Reader::Benchmark(const object& benchmark) {
  ++benchmark_count_;
  const std::string_view name = Member<std::string_view>(benchmark, "name");
  ForEachObject(benchmark, "states", [&](const object& state) { State(name, state); });
}

void Reader::Finish() {
  ImportCounts& counts = results_.counts;
  counts.format = "nvbench";
  counts.numbers.emplace_back("benchmarks", benchmark_count_);
  counts.numbers.emplace_back("states", state_count_);
  counts.numbers.emplace_back("skipped", skipped_count_);
  counts.numbers.emplace_back("invalid", invalid_count_);
  counts.numbers.emplace_back("gpus", static_cast<int64_t>(results_.device.size()));
  std::vector<std::string> names;
  for (const DeviceRow& device : results_.device) names.emplace_back(results_.strings.Get(*device.name));
  counts.lists.emplace_back("gpu", std::move(names));
  if (skipped_count_ > 0) {
    results_.info.notes.push_back(fmt::format("{} of {} states were skipped", skipped_count_, state_count_));
  }
}

Confidence Sniff(const ImportSource& source) {
  const std::string_view head = source.head();
  if (head.find("\"nvbench\"") == std::string_view::npos) return Confidence::kNo;
  return head.find("\"benchmarks\"") != std::string_view::npos || head.find("\"devices\"") != std::string_view::npos
             ? Confidence::kCertain
             : Confidence::kLikely;
}

absl::StatusOr<std::unique_ptr<ImportedCapture>> Open(std::shared_ptr<ImportSource> source) {
  return OpenResults(*source, ParseNvbench);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Results>> ParseNvbench(std::string_view text) {
  simdjson::dom::parser parser;
  object root;
  const simdjson::error_code error = parser.parse(text.data(), text.size()).get(root);
  if (error != simdjson::SUCCESS) {
    return absl::InvalidArgumentError(fmt::format("reading NVBench JSON: {}", simdjson::error_message(error)));
  }
  array benchmarks;
  if (root.at_key("benchmarks").get(benchmarks) != simdjson::SUCCESS) {
    return absl::InvalidArgumentError("reading NVBench JSON: it has no list \"benchmarks\"");
  }
  auto results = std::make_unique<Results>();
  results->info.format = "nvbench";
  std::string_view json_version;
  std::string_view tool_version;
  if (root.at_pointer("/meta/version/json/string").get(json_version) != simdjson::SUCCESS) json_version = "unknown";
  if (root.at_pointer("/meta/version/nvbench/string").get(tool_version) != simdjson::SUCCESS) tool_version = "";
  results->info.format_version = std::string(json_version);
  results->info.producer = tool_version.empty() ? "nvbench" : fmt::format("nvbench {}", tool_version);
  Reader reader(*results);
  ForEachObject(root, "devices", [&](const object& device) { reader.Device(device); });
  ForEachObject(root, "benchmarks", [&](const object& benchmark) { reader.Benchmark(benchmark); });
  reader.Finish();
  return results;
}

Importer NvbenchImporter() {
  return {.format = "nvbench", .description = "NVBench JSON", .sniff = Sniff, .open = Open};
}

}  // namespace stallhound::capture
