#include "bench/suites/pair_suite.h"

#include <benchmark/benchmark.h>

namespace stallhound::bench {
namespace {

using benchmark::State;

double MedianOf(const std::vector<Sample>& samples, int64_t Sample::*member) {
  std::vector<int64_t> values;
  values.reserve(samples.size());
  for (const Sample& sample : samples) values.push_back(sample.*member);
  return Median(std::move(values));
}

std::optional<double> MedianOf(const std::vector<Sample>& samples, std::optional<int64_t> Sample::*member) {
  std::vector<int64_t> values;
  for (const Sample& sample : samples) {
    if (sample.*member) values.push_back(*(sample.*member));
  }
  if (values.empty()) return std::nullopt;
  return Median(std::move(values));
}

// A counter that is unknown is left out: Google Benchmark knows no null.
template <typename T>
void SetCounter(State& state, const char* name, const std::optional<T>& value) {
  if (value) state.counters[name] = static_cast<double>(*value);
}

void SetExpectedCounts(State& state, const BenchCase& bench_case) {
  const kernels::ExpectedCounts expected = bench_case.variant->expected_counts(bench_case.benchmark_case);
  SetCounter(state, "expect_kernel_count", expected.kernel_count);
  SetCounter(state, "expect_sync_count", expected.sync_count);
  SetCounter(state, "expect_host_to_device_count", expected.host_to_device_count);
  SetCounter(state, "expect_device_to_host_count", expected.device_to_host_count);
  SetCounter(state, "expect_memset_count", expected.memset_count);
}

void SetMeasured(State& state, const CaseResult& result) {
  const double time_ns = MedianOf(result.samples, &Sample::time_ns);
  state.SetIterationTime(time_ns * 1e-9);
  state.counters["sample_count"] = static_cast<double>(result.samples.size());
  state.counters["host_ns"] = MedianOf(result.samples, &Sample::host_ns);
  std::vector<int64_t> times;
  for (const Sample& sample : result.samples) times.push_back(sample.time_ns);
  SetCounter(state, "interval_ratio", MedianIntervalRatio(std::move(times)));
  SetCounter(state, "sm_clock_hz", MedianOf(result.samples, &Sample::sm_clock_hz));
  if (const auto copy_ns = MedianOf(result.samples, &Sample::copy_ns); copy_ns && *copy_ns > 0) {
    state.counters["copy_ns"] = *copy_ns;
    state.counters["copy_ratio"] = time_ns / *copy_ns;
  }
  if (!result.graph_samples.empty()) state.counters["graph_ns"] = MedianOf(result.graph_samples, &Sample::time_ns);
}

void SetResult(State& state, const BenchCase& bench_case, kernels::Device device, const CaseResult& result) {
  state.counters["bytes"] = static_cast<double>(bench_case.pair->bytes(bench_case.benchmark_case));
  state.counters["flops"] = static_cast<double>(bench_case.pair->flops(bench_case.benchmark_case));
  if (device == kernels::Device::kCuda) SetExpectedCounts(state, bench_case);
  if (result.checked_shape && *result.checked_shape != bench_case.benchmark_case.shape.name) {
    state.SetLabel("checked on " + *result.checked_shape);
  }
  if (result.recorded_iteration_ns) {
    state.SetIterationTime(static_cast<double>(*result.recorded_iteration_ns) * 1e-9);
  } else {
    SetMeasured(state, result);
  }
}

void RunBenchmark(State& state, const BenchCase& bench_case, SuiteRun& run) {
  for ([[maybe_unused]] auto iteration : state) {
    const absl::StatusOr<CaseResult> result = RunCase(bench_case, *run.harness, run.settings, SystemClock());
    if (result.ok()) {
      SetResult(state, bench_case, run.harness->device(), *result);
    } else {
      run.errors.push_back(result.status());
      state.SkipWithError(std::string(result.status().message()).c_str());
    }
    if (!run.side_file) continue;
    const absl::Status written = result.ok() ? run.side_file->Add(bench_case.Id(), *result)
                                             : run.side_file->AddError(bench_case.Id(), result.status());
    if (!written.ok()) run.errors.push_back(written);
  }
}

}  // namespace

void RegisterPairs(std::span<const kernels::Pair> pairs, SuiteRun& run) {
  for (const kernels::Pair& pair : pairs) {
    for (const kernels::Variant& variant : pair.variants) {
      if (!kernels::RunsOn(variant, run.harness->device())) continue;
      for (const kernels::Case& benchmark_case : kernels::BenchmarkCases(pair, run.harness->device())) {
        const BenchCase bench_case = {.pair = &pair, .variant = &variant, .benchmark_case = benchmark_case};
        benchmark::RegisterBenchmark(bench_case.Id().c_str(),
                                     [bench_case, &run](State& state) { RunBenchmark(state, bench_case, run); })
            ->Iterations(1)
            ->UseManualTime()
            ->Unit(benchmark::kMicrosecond);
      }
    }
  }
}

}  // namespace stallhound::bench
