#include "cli/bench/benchmark_results.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "base/stats/samples.h"

namespace stallhound::cli {
namespace {

using store::Better;
using store::MetricKind;

constexpr double kConfidence = 0.95;

// A counter of the bench that the history keeps under its own name.
struct CounterMetric {
  const char* name;
  const char* unit;
  MetricKind kind;
  bool is_exact;  // follows from the case, not from a measurement
};
constexpr CounterMetric kCounterMetrics[] = {
    {"host_ns", "ns", MetricKind::kTime, false},  {"graph_ns", "ns", MetricKind::kTime, false},
    {"copy_ns", "ns", MetricKind::kTime, false},  {"copy_ratio", "ratio", MetricKind::kRatio, false},
    {"bytes", "bytes", MetricKind::kBytes, true}, {"flops", "flops", MetricKind::kCount, true},
};

// Between two order statistics, by linear interpolation. `sorted` has at least one value.
double Quantile(const std::vector<double>& sorted, double share) {
  const double at = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<size_t>(at);
  const size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (at - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

// Everything but the metric and the samples. At least one value.
store::Point Summary(std::vector<double> values) {
  store::Point point;
  const auto count = static_cast<double>(values.size());
  point.sample_count = static_cast<int64_t>(values.size());
  std::sort(values.begin(), values.end());
  double sum = 0;
  for (const double value : values) sum += value;
  point.mean = sum / count;
  point.minimum = values.front();
  point.lower_quartile = Quantile(values, 0.25);
  point.median = Quantile(values, 0.5);
  point.upper_quartile = Quantile(values, 0.75);
  double squares = 0;
  std::vector<double> deviations;
  for (const double value : values) {
    squares += (value - *point.mean) * (value - *point.mean);
    deviations.push_back(std::abs(value - *point.median));
  }
  if (values.size() > 1) point.standard_deviation = std::sqrt(squares / (count - 1));
  point.median_deviation = stats::MedianInPlace(deviations);
  if (const auto interval = stats::IntervalOfMedian(values, kConfidence); interval.ok()) {
    point.interval_low = interval->low;
    point.interval_high = interval->high;
  }
  return point;
}

// The rounds of one case, in order.
struct CaseRows {
  std::vector<std::pair<int64_t, const BenchRow*>> rows;  // with the round's number
  std::optional<std::string> error;
};

std::optional<double> Counter(const BenchRow& row, const char* name) {
  const auto found = row.counters.find(name);
  return found == row.counters.end() ? std::nullopt : std::optional(found->second);
}

store::Point TimePoint(const CaseRows& one, const char* metric) {
  std::vector<double> values;
  std::vector<store::Sample> samples;
  for (const auto& [round, row] : one.rows) {
    values.push_back(row->time_ns);
    store::Sample& sample = samples.emplace_back();
    sample.round = round;
    sample.value = std::llround(row->time_ns);
    if (const auto clock = Counter(*row, "sm_clock_hz")) sample.sm_clock_hz = std::llround(*clock);
  }
  store::Point point = Summary(std::move(values));
  point.metric = {metric, "ns", MetricKind::kTime, Better::kLower, false};
  point.samples = std::move(samples);
  return point;
}

std::optional<store::Point> CounterPoint(const CaseRows& one, const CounterMetric& metric) {
  std::vector<double> values;
  std::vector<store::Sample> samples;
  for (const auto& [round, row] : one.rows) {
    const std::optional<double> value = Counter(*row, metric.name);
    if (!value) continue;
    values.push_back(*value);
    samples.push_back({round, std::llround(*value), std::nullopt});
  }
  if (values.empty()) return std::nullopt;
  store::Point point;
  if (metric.is_exact) {
    point.sample_count = 1;
    point.exact_value = std::llround(values.front());
  } else {
    point = Summary(std::move(values));
    if (metric.kind == MetricKind::kTime) point.samples = std::move(samples);
  }
  point.metric = {metric.name, metric.unit, metric.kind, Better::kLower, metric.is_exact};
  return point;
}

const char* TimeMetricOf(std::span<const BenchOutput> rounds) {
  for (const BenchOutput& round : rounds) {
    const auto device = round.context.find("stallhound_device");
    if (device != round.context.end() && device->second == "cuda") return kGpuTimeMetric;
  }
  return kCpuTimeMetric;
}

}  // namespace

std::vector<store::BenchmarkResult> BenchmarkResults(const std::string& suite, std::span<const BenchOutput> rounds) {
  std::vector<std::string> order;
  std::map<std::string, CaseRows> cases;
  for (size_t round = 0; round < rounds.size(); ++round) {
    for (const BenchRow& row : rounds[round].rows) {
      const auto [one, is_new] = cases.try_emplace(row.id);
      if (is_new) order.push_back(row.id);
      if (row.error && !one->second.error) one->second.error = row.error;
      if (!row.error) one->second.rows.emplace_back(static_cast<int64_t>(round), &row);
    }
  }
  const char* time_metric = TimeMetricOf(rounds);
  std::vector<store::BenchmarkResult> results;
  for (const std::string& id : order) {
    const CaseRows& one = cases.at(id);
    store::BenchmarkResult& result = results.emplace_back();
    result.suite = suite;
    result.name = id;
    if (one.error) {
      result.outcome = store::BenchmarkOutcome::kFailed;
      result.message = one.error;
      continue;
    }
    result.points.push_back(TimePoint(one, time_metric));
    for (const CounterMetric& metric : kCounterMetrics) {
      if (std::optional<store::Point> point = CounterPoint(one, metric)) result.points.push_back(*std::move(point));
    }
  }
  return results;
}

void AddCounts(const analysis::CaseCounts& counts, store::BenchmarkResult& result) {
  result.iteration_count = counts.iteration_count;
  result.counts_complete = counts.counts_complete;
  result.kernels = counts.kernels;
  result.event_counts = counts.event_counts;
  result.sync_sites = counts.sync_sites;
}

}  // namespace stallhound::cli
