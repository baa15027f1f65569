#include "cli/bench/bench_output.h"

#include <absl/strings/str_split.h>
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/file.h"
#include "base/status_macros.h"

namespace stallhound::cli {
namespace {

using nlohmann::json;

constexpr std::string_view kSuffix = "/iterations:1/manual_time";

// Of a row, but no counters.
constexpr std::string_view kRowFields[] = {"family_index", "per_family_instance_index",
                                           "repetitions",  "repetition_index",
                                           "threads",      "iterations",
                                           "real_time",    "cpu_time"};

absl::Status Bad(const std::string& path, std::string_view why) {
  return absl::DataLossError(fmt::format("reading the result '{}' of the bench: {}", path, why));
}

std::optional<double> NanosecondsOf(const std::string& unit) {
  if (unit == "ns") return 1;
  if (unit == "us") return 1e3;
  if (unit == "ms") return 1e6;
  if (unit == "s") return 1e9;
  return std::nullopt;
}

std::string TextOf(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

absl::StatusOr<BenchRow> RowOf(const json& object, const std::string& path) {
  BenchRow row;
  row.id = TextOf(object, "name");
  if (row.id.ends_with(kSuffix)) row.id.resize(row.id.size() - kSuffix.size());
  if (row.id.empty()) return Bad(path, "a benchmark has no name");
  if (const auto failed = object.find("error_occurred"); failed != object.end() && *failed == json(true)) {
    row.error = TextOf(object, "error_message");
    return row;
  }
  const std::optional<double> unit = NanosecondsOf(TextOf(object, "time_unit"));
  const auto time = object.find("real_time");
  if (!unit || time == object.end() || !time->is_number()) {
    return Bad(path, fmt::format("'{}' has no real_time with a time_unit", row.id));
  }
  row.time_ns = time->get<double>() * *unit;
  for (const auto& [key, value] : object.items()) {
    const bool is_field = std::find(std::begin(kRowFields), std::end(kRowFields), key) != std::end(kRowFields);
    if (!is_field && value.is_number()) row.counters[key] = value.get<double>();
  }
  return row;
}

absl::Status ReadResult(const std::string& path, BenchOutput& output) {
  SH_ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  const json result = json::parse(text, nullptr, false);
  if (!result.is_object() || !result.contains("benchmarks") || !result["benchmarks"].is_array()) {
    return Bad(path, "it is no whole JSON of Google Benchmark; did the bench end early?");
  }
  if (const auto context = result.find("context"); context != result.end() && context->is_object()) {
    for (const auto& [key, value] : context->items()) {
      if (value.is_string()) output.context[key] = value.get<std::string>();
    }
  }
  for (const json& object : result["benchmarks"]) {
    if (!object.is_object()) return Bad(path, "a benchmark is no object");
    if (TextOf(object, "run_type") == "aggregate") continue;
    SH_ASSIGN_OR_RETURN(BenchRow row, RowOf(object, path));
    output.rows.push_back(std::move(row));
  }
  return absl::OkStatus();
}

void TakeClocks(const json& clocks, BenchOutput& output) {
  if (!clocks.is_array()) return;
  for (const json& clock : clocks) {
    if (!clock.is_number_integer()) continue;
    const int64_t hz = clock.get<int64_t>();
    output.sm_clock_min_hz = std::min(output.sm_clock_min_hz.value_or(hz), hz);
  }
}

absl::Status ReadSamples(const std::string& path, BenchOutput& output) {
  const absl::StatusOr<std::string> text = ReadFile(path);
  if (absl::IsNotFound(text.status())) return absl::OkStatus();
  SH_RETURN_IF_ERROR(text.status());
  for (const absl::string_view line : absl::StrSplit(*text, '\n', absl::SkipEmpty())) {
    const json one = json::parse(line.begin(), line.end(), nullptr, false);
    if (!one.is_object()) return Bad(path, "a line is no JSON object");
    if (const auto clocks = one.find("sm_clock_hz"); clocks != one.end()) TakeClocks(*clocks, output);
    const auto reasons = one.find("throttle_reasons");
    if (reasons == one.end() || !reasons->is_array()) continue;
    if (!output.throttle_reasons) output.throttle_reasons.emplace();
    for (const json& reason : *reasons) {
      if (reason.is_string()) output.throttle_reasons->insert(reason.get<std::string>());
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<BenchOutput> ReadBenchOutput(const std::string& result_path, const std::string& samples_path) {
  BenchOutput output;
  SH_RETURN_IF_ERROR(ReadResult(result_path, output));
  SH_RETURN_IF_ERROR(ReadSamples(samples_path, output));
  return output;
}

}  // namespace stallhound::cli
