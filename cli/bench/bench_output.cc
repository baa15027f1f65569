#include "cli/bench/bench_output.h"

#include <absl/strings/str_split.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
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

constexpr double kLongestTimeNs = 1e15;  // eleven days

absl::Status Bad(std::string_view why) { return absl::DataLossError(fmt::format("reading its result: {}", why)); }

// Google Benchmark writes NaN and Infinity as they are, which no JSON has: they become strings.
std::string WithQuotedNonNumbers(std::string_view text) {
  std::string quoted;
  bool is_in_string = false;
  for (size_t at = 0; at < text.size();) {
    const char c = text[at];
    size_t length = 1;
    if (is_in_string) {
      length = c == '\\' ? 2 : 1;
      is_in_string = c != '"';
    } else if (c == '"') {
      is_in_string = true;
    } else {
      const std::string_view rest = text.substr(at);
      for (const std::string_view word : {"-NaN", "NaN", "-Infinity", "Infinity", "-nan", "nan", "-inf", "inf"}) {
        if (!rest.starts_with(word)) continue;
        quoted += fmt::format("\"{}\"", word);
        length = 0;
        at += word.size();
        break;
      }
    }
    quoted += text.substr(at, length);
    at += length;
  }
  return quoted;
}

// Why no iteration can have taken so long; nullopt: it can.
std::optional<std::string> TimeProblem(const std::string& id, const json& time, double unit_ns) {
  const double time_ns = time.is_number() ? time.get<double>() * unit_ns : std::nan("");
  if (time_ns > 0 && time_ns <= kLongestTimeNs) return std::nullopt;
  const std::string value = time.is_number() ? fmt::format("{} ns", time_ns) : time.get<std::string>();
  return fmt::format("the bench reported the time {} for '{}': above 0 and at most {} ns is possible", value, id,
                     kLongestTimeNs);
}

// Why no case can have such a counter; nullopt: it can. Those that are not named here are nobody's yet.
std::optional<std::string> CounterProblem(const std::string& id, const std::string& counter, double value) {
  constexpr double kMostCount = 9e18;  // fits into an int64
  constexpr double kMostHz = 1e12;
  struct Range {
    std::string_view counter;
    double least;
    double most;
  };
  constexpr Range kRanges[] = {{"bytes", 0, kMostCount},       {"flops", 0, kMostCount},
                               {"host_ns", 0, kLongestTimeNs}, {"graph_ns", 0, kLongestTimeNs},
                               {"copy_ns", 0, kLongestTimeNs}, {"copy_ratio", 0, kLongestTimeNs},
                               {"sm_clock_hz", 1, kMostHz}};
  const auto range =
      std::find_if(std::begin(kRanges), std::end(kRanges), [&](const Range& one) { return one.counter == counter; });
  const bool is_declaration = range == std::end(kRanges) && counter.starts_with("expect_");
  if (range == std::end(kRanges) && !is_declaration) return std::nullopt;
  const double least = is_declaration ? 0 : range->least, most = is_declaration ? kMostCount : range->most;
  if (value >= least && value <= most) return std::nullopt;
  return fmt::format("the bench reported the counter {} {} for '{}': {} to {} is possible", counter, value, id, least,
                     most);
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

absl::StatusOr<BenchRow> RowOf(const json& object) {
  BenchRow row;
  row.id = TextOf(object, "name");
  if (row.id.ends_with(kSuffix)) row.id.resize(row.id.size() - kSuffix.size());
  if (row.id.empty()) return Bad("a benchmark has no name");
  if (const auto failed = object.find("error_occurred"); failed != object.end() && *failed == json(true)) {
    row.error = TextOf(object, "error_message");
    return row;
  }
  const std::optional<double> unit = NanosecondsOf(TextOf(object, "time_unit"));
  const auto time = object.find("real_time");
  if (!unit || time == object.end() || !(time->is_number() || time->is_string())) {
    return Bad(fmt::format("'{}' has no real_time with a time_unit", row.id));
  }
  row.error = TimeProblem(row.id, *time, *unit);
  if (row.error) return row;
  row.time_ns = time->get<double>() * *unit;
  for (const auto& [key, value] : object.items()) {
    const bool is_field = std::find(std::begin(kRowFields), std::end(kRowFields), key) != std::end(kRowFields);
    if (is_field || !value.is_number()) continue;
    if (!row.error) row.error = CounterProblem(row.id, key, value.get<double>());
    row.counters[key] = value.get<double>();
  }
  return row;
}

absl::Status ReadResult(const std::string& path, BenchOutput& output) {
  const absl::StatusOr<std::string> text = ReadFile(path);
  if (absl::IsNotFound(text.status())) return Bad("it left none");
  SH_RETURN_IF_ERROR(text.status());
  const json result = json::parse(WithQuotedNonNumbers(*text), nullptr, false);
  if (!result.is_object() || !result.contains("benchmarks") || !result["benchmarks"].is_array()) {
    return Bad("it is no whole JSON of Google Benchmark; did the bench end early?");
  }
  if (const auto context = result.find("context"); context != result.end() && context->is_object()) {
    for (const auto& [key, value] : context->items()) {
      if (value.is_string()) output.context[key] = value.get<std::string>();
    }
  }
  std::set<std::string> ids;
  for (const json& object : result["benchmarks"]) {
    if (!object.is_object()) return Bad("a benchmark is no object");
    if (TextOf(object, "run_type") == "aggregate") continue;
    SH_ASSIGN_OR_RETURN(BenchRow row, RowOf(object));
    if (!ids.insert(row.id).second) {
      return Bad(fmt::format("it reports '{}' twice; a process gives one time a case, without repetitions", row.id));
    }
    output.rows.push_back(std::move(row));
  }
  return absl::OkStatus();
}

void TakeClocks(const json& clocks, BenchOutput& output) {
  if (!clocks.is_array()) return;
  for (const json& clock : clocks) {
    const int64_t hz = clock.is_number_integer() ? clock.get<int64_t>() : 0;
    if (hz <= 0) continue;
    output.sm_clock_min_hz = std::min(output.sm_clock_min_hz.value_or(hz), hz);
  }
}

absl::Status ReadSamples(const std::string& path, BenchOutput& output) {
  const absl::StatusOr<std::string> text = ReadFile(path);
  if (absl::IsNotFound(text.status())) return absl::OkStatus();
  SH_RETURN_IF_ERROR(text.status());
  for (const absl::string_view line : absl::StrSplit(*text, '\n', absl::SkipEmpty())) {
    const json one = json::parse(line.begin(), line.end(), nullptr, false);
    if (!one.is_object()) return Bad("a line of the side file is no JSON object");
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
