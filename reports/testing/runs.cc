#include "reports/testing/runs.h"

#include "reports/testing/gates.h"
#include "reports/testing/reports.h"

namespace stallhound::reports {
namespace {

using analysis::gate::CountRange;

RunBenchmark Benchmark(const char* name, double time_ns) {
  RunBenchmark benchmark;
  benchmark.suite = "bench";
  benchmark.name = name;
  benchmark.outcome = "measured";
  benchmark.time_ns = time_ns;
  benchmark.round_times_ns = {static_cast<int64_t>(time_ns) - 10, static_cast<int64_t>(time_ns) + 10};
  benchmark.copy_ns = 100'000;
  benchmark.iteration_count = 20;
  benchmark.kernel_count = CountRange{1, 1};
  benchmark.wait_count = CountRange{0, 0};
  benchmark.copy_count = CountRange{0, 1};
  return benchmark;
}

}  // namespace

RunReport OrdinaryRun() {
  RunReport report;
  report.gate = OrdinaryGate();
  report.run = report.gate->run;
  report.status = "complete";
  report.duration_ns = 754'000'000'000;
  report.producer = "0.1.0";
  report.environment = {{"gpu_name", "NVIDIA H200"}, {"driver", "580.65.06"}, {"cudnn", std::nullopt}};
  RunBenchmark reference = Benchmark("layer_norm/reference/fp32/200000x128/forward", 312'345);
  reference.kernel_count = CountRange{8, 8};
  RunBenchmark optimized = Benchmark("layer_norm/optimized/fp32/200000x128/forward", 104'500);
  optimized.wait_count = CountRange{1, 1};
  optimized.sites = {{"wait", "kernels/layer_norm/layer_norm_optimized.cc", 41, "Forward", std::nullopt,
                      "cudaStreamSynchronize", 20, 1'000'000, 840'000, 400'000, "aten::nonzero"},
                     {"wait", std::nullopt, std::nullopt, std::nullopt, "at::native::item", std::nullopt, 25}};
  RunBenchmark only = Benchmark("radius_search/optimized/fp32/100000/forward", 140'000);
  only.copy_ns = std::nullopt;
  only.kernel_count = only.wait_count = only.copy_count = std::nullopt;
  RunBenchmark failed = Benchmark("radius_search/optimized/fp32/1000/forward", 0);
  failed.outcome = "failed";
  failed.message = "oracle: error 2.5 of 1";
  RunBenchmark unnamed = Benchmark("startup", 5'000'000);
  unnamed.time_ns = std::nullopt;
  unnamed.round_times_ns.clear();
  report.benchmarks = {reference, optimized, Benchmark("layer_norm/two_pass/fp32/200000x128/forward", 208'000),
                       only,      failed,    unnamed};
  return report;
}

RunReport HostileRun() {
  RunReport report = OrdinaryRun();
  report.gate = HostileGate();
  const std::vector<std::string> texts = HostileTexts();
  for (size_t i = 0; i < texts.size(); ++i) {
    const std::string& text = texts[i];
    RunBenchmark benchmark = report.benchmarks[1];
    benchmark.name = benchmark.suite = text;
    benchmark.sites[0].file = benchmark.sites[0].function = benchmark.sites[0].api = benchmark.sites[0].kind = text;
    benchmark.sites[1].native_symbol = benchmark.sites[1].operator_name = text;
    RunBenchmark failed = report.benchmarks[4];
    failed.name = text;
    failed.message = text;
    report.benchmarks.push_back(std::move(benchmark));
    report.benchmarks.push_back(std::move(failed));
    report.environment.push_back({"name", text});
  }
  report.run = {texts[8], 0, texts[0], texts[3], texts[4], texts[6]};
  report.status = texts[1];
  return report;
}

std::vector<RunSummary> OrdinaryRuns() {
  const GateReport gate = OrdinaryGate();
  return {{gate.run, "complete", 124, "regressed"}, {gate.baselines.front(), "interrupted", 0, std::nullopt}};
}

}  // namespace stallhound::reports
