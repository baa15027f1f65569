#include "capture/import/results/gbench.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <simdjson.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "base/stats/samples.h"
#include "base/status_macros.h"
#include "capture/import/results/mended_json.h"

namespace stallhound::capture {
namespace {

using simdjson::dom::element;
using simdjson::dom::object;

// Members of an entry that are no measured numbers.
constexpr std::string_view kLabels[] = {
    "name",          "run_name",       "run_type",       "repetitions", "repetition_index",
    "threads",       "family_index",   "iterations",     "time_unit",   "per_family_instance_index",
    "label",         "aggregate_name", "aggregate_unit", "big_o",       "error_occurred",
    "error_message", "skipped",        "skip_message",
};
// Of the context; the rest names hosts and paths.
constexpr std::string_view kContext[] = {
    "date", "num_cpus", "mhz_per_cpu", "cpu_scaling_enabled", "library_version", "library_build_type"};

bool IsAmong(std::string_view word, const std::string_view* begin, const std::string_view* end) {
  return std::find(begin, end, word) != end;
}

std::optional<std::string_view> Text(const object& entry, std::string_view key) {
  std::string_view text;
  if (entry.at_key(key).get(text) != simdjson::SUCCESS) return std::nullopt;
  return text;
}

std::optional<double> Number(element value) {
  double number = 0;
  if (value.is_string() || value.get(number) != simdjson::SUCCESS) return std::nullopt;
  return number;
}

std::optional<int64_t> Integer(const object& entry, std::string_view key) {
  element value;
  int64_t integer = 0;
  if (entry.at_key(key).get(value) != simdjson::SUCCESS || value.get(integer) != simdjson::SUCCESS) return std::nullopt;
  return integer;
}

bool IsTrue(const object& entry, std::string_view key) {
  bool value = false;
  return entry.at_key(key).get(value) == simdjson::SUCCESS && value;
}

std::optional<double> NanosecondsPer(std::string_view unit) {
  constexpr std::pair<std::string_view, double> kUnits[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
  for (const auto& [name, factor] : kUnits) {
    if (unit == name) return factor;
  }
  return std::nullopt;
}

struct Identity {
  std::string benchmark;
  std::string aggregate;  // empty: one repetition
};

// Versions before 1.5 have no run_type: an aggregate is told by the end of its name.
Identity IdentityOf(const object& entry) {
  const std::string name(Text(entry, "name").value_or(""));
  if (const auto aggregate = Text(entry, "aggregate_name")) {
    return {std::string(Text(entry, "run_name").value_or(name)), std::string(*aggregate)};
  }
  if (!Text(entry, "run_type")) {
    for (const std::string_view end : {"mean", "median", "stddev", "cv", "BigO", "RMS"}) {
      if (name.size() > end.size() + 1 && name.ends_with(fmt::format("_{}", end))) {
        return {name.substr(0, name.size() - end.size() - 1), std::string(end)};
      }
    }
  }
  return {std::string(Text(entry, "run_name").value_or(name)), ""};
}

class Reader {
 public:
  explicit Reader(Results& results) : results_(results) {}

  void Context(const object& context);
  void Entry(const object& entry);
  void Finish();

 private:
  // One benchmark: names repeat in different families.
  using Key = std::tuple<std::string, int64_t, int64_t>;
  struct Benchmark {
    std::vector<double> times_ns;              // of single repetitions
    std::map<std::string, double> aggregates;  // name -> ns
    bool is_invalid = false;
  };

  void Point(const object& entry, const Identity& identity, std::string_view key, element value, Benchmark& benchmark);
  void Problem(std::string sentence);
  // The benchmark's time: the median where there is one.
  static std::optional<double> TimeNs(const Benchmark& benchmark);

  Results& results_;
  std::map<Key, Benchmark> benchmarks_;
  std::vector<Key> order_;
  int64_t failed_count_ = 0;
  int64_t skipped_count_ = 0;
  int64_t problem_count_ = 0;
};

void Reader::Context(const object& context) {
  for (const std::string_view key : kContext) {
    element value;
    if (context.at_key(key).get(value) != simdjson::SUCCESS) continue;
    std::string_view text;
    results_.AddEnvironment(fmt::format("benchmark.{}", key),
                            value.get(text) == simdjson::SUCCESS ? std::string(text) : simdjson::minify(value));
  }
  if (const auto version = Text(context, "library_version")) {
    results_.info.producer = fmt::format("google benchmark {}", *version);
  }
}

void Reader::Problem(std::string sentence) {
  constexpr int64_t kShown = 20;
  if (++problem_count_ <= kShown) results_.info.notes.push_back(std::move(sentence));
}

void Reader::Point(const object& entry, const Identity& identity, std::string_view key, element value,
                   Benchmark& benchmark) {
  StringTable& strings = results_.strings;
  BenchmarkPointRow row;
  row.benchmark = strings.Intern(identity.benchmark);
  row.metric = strings.Intern(std::string(key));
  row.value = Number(value);
  if (!identity.aggregate.empty()) row.aggregate = strings.Intern(identity.aggregate);
  row.repetition = Integer(entry, "repetition_index");
  row.iteration_count = Integer(entry, "iterations");
  const bool is_ratio = identity.aggregate == "cv" || Text(entry, "aggregate_unit") == "percentage" || key == "rms";
  const bool is_time = (key == "real_time" || key == "cpu_time") && !is_ratio;
  if (is_ratio) row.unit = strings.Intern("ratio");
  if (key == "bytes_per_second") row.unit = strings.Intern("bytes/s");
  if (key == "items_per_second") row.unit = strings.Intern("items/s");
  if (is_time) {
    const std::optional<double> factor = NanosecondsPer(Text(entry, "time_unit").value_or("ns"));
    row.unit = strings.Intern("ns");
    if (row.value) row.value = factor ? std::optional(*row.value * *factor) : std::nullopt;
    if (row.value && key == "real_time") {
      if (identity.aggregate.empty()) benchmark.times_ns.push_back(*row.value);
      if (!identity.aggregate.empty()) benchmark.aggregates[identity.aggregate] = *row.value;
    }
  }
  if (!row.value) {
    benchmark.is_invalid = true;
    Problem(fmt::format("{}: {} is no number: it counts as invalid, not as 0", identity.benchmark, key));
    row.error = strings.Intern("no number");
  }
  results_.benchmark_point.push_back(row);
}

void Reader::Entry(const object& entry) {
  const Identity identity = IdentityOf(entry);
  const Key key = {identity.benchmark, Integer(entry, "family_index").value_or(-1),
                   Integer(entry, "per_family_instance_index").value_or(-1)};
  const auto [it, is_new] = benchmarks_.try_emplace(key);
  if (is_new) order_.push_back(key);
  const bool is_skipped = IsTrue(entry, "skipped");
  if (IsTrue(entry, "error_occurred") || is_skipped) {
    const std::string_view message =
        Text(entry, is_skipped ? "skip_message" : "error_message").value_or(is_skipped ? "skipped" : "failed");
    Problem(fmt::format("{}: {}: {}", identity.benchmark, is_skipped ? "skipped" : "failed", message));
    it->second.is_invalid = true;
    ++(is_skipped ? skipped_count_ : failed_count_);
    BenchmarkPointRow row;
    row.benchmark = results_.strings.Intern(identity.benchmark);
    row.metric = results_.strings.Intern("real_time");
    row.repetition = Integer(entry, "repetition_index");
    row.error = results_.strings.Intern(std::string(message));
    results_.benchmark_point.push_back(row);
    return;
  }
  for (const auto& [name, value] : entry) {
    if (IsAmong(name, std::begin(kLabels), std::end(kLabels)) || value.is_string()) continue;
    if (value.is_number() || value.is_null()) Point(entry, identity, name, value, it->second);
  }
}

std::optional<double> Reader::TimeNs(const Benchmark& benchmark) {
  if (!benchmark.times_ns.empty()) {
    std::vector<double> times = benchmark.times_ns;
    return stats::MedianInPlace(times);
  }
  for (const char* aggregate : {"median", "mean", "min"}) {
    if (const auto it = benchmark.aggregates.find(aggregate); it != benchmark.aggregates.end()) return it->second;
  }
  return std::nullopt;
}

void Reader::Finish() {
  int64_t benchmark_count = 0;
  int64_t invalid_count = 0;
  std::map<std::string, double> times_ns;
  std::vector<std::string> aggregate_only;
  for (const Key& key : order_) {
    const Benchmark& benchmark = benchmarks_[key];
    const std::optional<double> time_ns = TimeNs(benchmark);
    if (!time_ns) {
      invalid_count += benchmark.is_invalid ? 1 : 0;
      continue;
    }
    ++benchmark_count;
    if (benchmark.times_ns.empty()) aggregate_only.push_back(std::get<0>(key));
    // Two families may share a name; the second is not the first measured again.
    std::string name = std::get<0>(key);
    for (int copy = 2; !times_ns.emplace(name, *time_ns).second; ++copy) {
      name = fmt::format("{} (family {})", std::get<0>(key), std::get<1>(key) >= 0 ? std::get<1>(key) : copy);
      if (copy > 2) name += fmt::format(" #{}", copy);
    }
  }
  if (!aggregate_only.empty()) {
    results_.info.notes.push_back(
        fmt::format("{} of {} benchmarks hold aggregates only: no two-sample test on raw values is possible for them",
                    aggregate_only.size(), benchmark_count));
  }
  ImportCounts& counts = results_.counts;
  counts.format = "google benchmark";
  counts.numbers.emplace_back("benchmarks", benchmark_count);
  counts.numbers.emplace_back("invalid", invalid_count);
  counts.numbers.emplace_back("failed", failed_count_);
  counts.numbers.emplace_back("skipped", skipped_count_);
  counts.maps.emplace_back("time_ns", std::move(times_ns));
}

void NoteMended(const MendedJson& json, Results& results) {
  constexpr size_t kShown = 5;
  if (!json.mended.empty()) {
    std::vector<std::string> tokens;
    for (const MendedToken& mended : json.mended) {
      if (tokens.size() < kShown) tokens.push_back(fmt::format("{} in line {}", mended.token, mended.line));
    }
    results.AddLoss(LossCounter::kForgivenJson, static_cast<int64_t>(json.mended.size()),
                    fmt::format("no JSON: {}", fmt::join(tokens, ", ")));
    results.info.notes.push_back(fmt::format("{} values are no JSON and were read all the same: {}{}",
                                             json.mended.size(), fmt::join(tokens, ", "),
                                             json.mended.size() > kShown ? ", ..." : ""));
  }
  if (json.before.find_first_not_of(" \t\r\n") != std::string_view::npos) {
    const auto lines = std::count(json.before.begin(), json.before.end(), '\n');
    results.AddLoss(LossCounter::kForgivenJson, 1, "text before the JSON");
    results.info.notes.push_back(fmt::format("{} lines of text before the JSON were left out", std::max(lines, 1L)));
  }
}

Confidence Sniff(const ImportSource& source) {
  const std::string_view head = source.head();
  const auto has = [&](std::string_view word) { return head.find(word) != std::string_view::npos; };
  if (!has("\"benchmarks\"") || has("\"nvbench\"") || has("\"traceEvents\"")) return Confidence::kNo;
  for (const std::string_view word :
       {"\"real_time\"", "\"run_name\"", "\"run_type\"", "\"library_build_type\"", "\"num_cpus\""}) {
    if (has(word)) return Confidence::kCertain;
  }
  return Confidence::kFallback;
}

absl::StatusOr<std::unique_ptr<ImportedCapture>> Open(std::shared_ptr<ImportSource> source) {
  return OpenResults(*source, ParseGoogleBenchmark);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Results>> ParseGoogleBenchmark(std::string_view text) {
  const MendedJson json = MendJson(text, {"context", "benchmarks"});
  if (json.is_cut) {
    return absl::DataLossError("reading Google Benchmark JSON: the file is truncated: its object does not end");
  }
  simdjson::dom::parser parser;
  object root;
  const simdjson::error_code error = parser.parse(json.text).get(root);
  if (error != simdjson::SUCCESS) {
    return absl::InvalidArgumentError(fmt::format("reading Google Benchmark JSON: {}", simdjson::error_message(error)));
  }
  simdjson::dom::array entries;
  if (root.at_key("benchmarks").get(entries) != simdjson::SUCCESS) {
    return absl::InvalidArgumentError("reading Google Benchmark JSON: it has no list \"benchmarks\"");
  }
  auto results = std::make_unique<Results>();
  results->info.format = "google-benchmark";
  results->info.format_version = "1";
  results->info.producer = "google benchmark";
  NoteMended(json, *results);
  Reader reader(*results);
  if (object context; root.at_key("context").get(context) == simdjson::SUCCESS) reader.Context(context);
  for (const element entry : entries) {
    if (object fields; entry.get(fields) == simdjson::SUCCESS) reader.Entry(fields);
  }
  reader.Finish();
  return results;
}

Importer GoogleBenchmarkImporter() {
  return {.format = "google-benchmark", .description = "Google Benchmark JSON", .sniff = Sniff, .open = Open};
}

}  // namespace stallhound::capture
