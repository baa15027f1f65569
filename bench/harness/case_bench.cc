#include "bench/harness/case_bench.h"

#include <algorithm>

#include "base/status_macros.h"
#include "bench/harness/checked_shape.h"
#include "bench/harness/marks.h"

namespace stallhound::bench {
namespace {

// What a case is run with, once it is checked.
struct Setup {
  InputSets& sets;
  Harness& harness;
  const Clock& clock;
  StoppingRule rule;
};

absl::Status Record(const Setup& setup, int64_t iteration_count, CaseResult* result) {
  const int64_t start_ns = setup.clock.MonotonicNs();
  for (int64_t i = 0; i < iteration_count; ++i) {
    {
      const Range range(kIterationRange);
      SH_RETURN_IF_ERROR(setup.sets.at(i).Run());
    }
    SH_RETURN_IF_ERROR(setup.harness.Synchronize());
  }
  result->recorded_iteration_ns = (setup.clock.MonotonicNs() - start_ns) / iteration_count;
  return absl::OkStatus();
}

absl::Status Measure(const Setup& setup, int64_t copy_bytes, CaseResult* result) {
  SH_ASSIGN_OR_RETURN(
      CaseSampler made,
      setup.harness.MakeSampler([&setup](int64_t index) { return setup.sets.at(index).Run(); }, copy_bytes));
  result->copy_method = made.copy_method;
  result->copy_problem = made.copy_problem;
  SH_ASSIGN_OR_RETURN(SampleSet set, TakeSamples(*made.sampler, setup.clock, setup.rule));
  result->samples = std::move(set.samples);
  result->is_stable = set.is_stable;
  result->throttle_reasons = made.sampler->ThrottleReasons();
  return absl::OkStatus();
}

absl::Status MeasureGraph(const Setup& setup, CaseResult* result) {
  SH_ASSIGN_OR_RETURN(Launch launch, setup.harness.CaptureGraphs(setup.sets));
  SH_ASSIGN_OR_RETURN(const CaseSampler made, setup.harness.MakeSampler(std::move(launch), std::nullopt));
  SH_ASSIGN_OR_RETURN(SampleSet set, TakeSamples(*made.sampler, setup.clock, setup.rule));
  result->graph_samples = std::move(set.samples);
  return absl::OkStatus();
}

std::string WhyNoGraph(const BenchCase& bench_case) {
  if (bench_case.variant != &bench_case.pair->variants[kernels::kOptimized]) {
    return "only the optimized variant is measured in a graph";
  }
  const auto sync_count = bench_case.variant->expected_counts(bench_case.benchmark_case).sync_count;
  return sync_count.value_or(0) > 0 ? "the variant waits for the device" : "";
}

}  // namespace

absl::StatusOr<CaseResult> RunCase(const BenchCase& bench_case, Harness& harness, const BenchSettings& settings,
                                   const Clock& clock) {
  CaseResult result;
  if (settings.check) {
    SH_ASSIGN_OR_RETURN(const int64_t available_bytes, harness.AvailableBytes());
    SH_ASSIGN_OR_RETURN(result.checked_shape, CheckWithinMemory(bench_case, harness.device(), available_bytes));
  }
  SH_ASSIGN_OR_RETURN(const int64_t available_bytes, harness.AvailableBytes());
  SH_ASSIGN_OR_RETURN(InputSets sets, InputSets::Create(bench_case, harness.device(), available_bytes));
  SH_RETURN_IF_ERROR(harness.Synchronize());
  result.input_set_count = sets.count();
  const Range range(bench_case.Id());
  Setup setup = {sets, harness, clock, settings.rule};
  setup.rule.warmup_count = std::max(setup.rule.warmup_count, sets.count());
  if (settings.record_iterations) {
    SH_RETURN_IF_ERROR(Record(setup, *settings.record_iterations, &result));
    return result;
  }
  SH_RETURN_IF_ERROR(Measure(setup, bench_case.pair->bytes(bench_case.benchmark_case), &result));
  result.graph_problem = WhyNoGraph(bench_case);
  if (result.graph_problem.empty()) {
    const absl::Status graph = MeasureGraph(setup, &result);
    if (!graph.ok()) result.graph_problem = std::string(graph.message());
  }
  return result;
}

}  // namespace stallhound::bench
