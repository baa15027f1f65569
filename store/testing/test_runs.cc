#include "store/testing/test_runs.h"

#include <fmt/format.h>

namespace stallhound {
namespace store {
namespace {

constexpr int64_t kStartNs = 1'767'225'600'000'000'000;

Environment FullEnvironment(int number) {
  return {.driver = "580.65.06",
          .cuda_runtime = "13.0",
          .cupti = "13.0.1",
          .libtorch = "2.11.0",
          .cudnn = "9.14",
          .cublas = "13.1",
          .host_kernel = "6.8.0",
          .compiler = "gcc 12.2.0",
          .build_flags = "-c opt",
          .clocks_locked = false,
          .persistence_mode = true,
          .switches = {{"CUDA_MODULE_LOADING", "EAGER"}, {"OMP_NUM_THREADS", fmt::format("{}", 1 + number % 2)}}};
}

RunInfo FullInfo(int number) {
  RunInfo info;
  info.uuid = testing::RunUuid(number);
  info.revision =
      Revision{"stallhound", fmt::format("{:040x}", number), fmt::format("{:040x}", number - 1), number, kStartNs - 1};
  info.hardware = {"Some CPU", 16,      "NVIDIA H200", 1,  "9.0", 132, 150'754'820'096, 3'201'000'000, 1'980'000'000,
                   700'000,    "96.00", true,          "", 5,     16,  "GPU0 -"};
  info.environment = FullEnvironment(number);
  info.machine = "bench-1";
  info.branch = number % 2 == 0 ? "main" : "topic";
  info.has_local_changes = false;
  info.started_at_ns = kStartNs + number;
  info.duration_ns = 60'000'000'000;
  info.status = RunStatus::kInterrupted;
  info.throttle_reasons = "sw-power-cap";
  info.temperature_max_celsius = 64;
  info.sm_clock_min_hz = 1'500'000'000;
  info.sm_clock_median_hz = 1'755'000'000;
  info.round_plan = "ABBA";
  info.seed = -1 - number;
  info.producer = "0.1.0";
  info.analysis_version = 3;
  info.captures = {{"capture-a", "a.stallhound", "0123"}, {"capture-b", "b.stallhound", "4567"}};
  return info;
}

BenchmarkResult FullBenchmark(int number, int index) {
  const double noise = 0.1 * number;
  BenchmarkResult result;
  result.suite = "suite";
  result.name = fmt::format("layer/{}", index);
  result.outcome = BenchmarkOutcome::kFailed;
  result.message = "oracle: error 2.5 of 1";
  result.iteration_count = 10;
  result.counts_complete = true;
  result.points = {{{"gpu_time_ns", "ns", MetricKind::kTime, Better::kLower, false},
                    4,
                    100.5 + noise,
                    101.25,
                    1.5,
                    1.0 / 3,
                    99.0,
                    99.5,
                    102.0,
                    99.75,
                    101.0,
                    std::nullopt,
                    {{0, 100, 1'755'000'000}, {0, 99, std::nullopt}, {1, 101 + number, 1'740'000'000}, {1, 102, 0}}},
                   {{"read_bytes", "bytes", MetricKind::kBytes, Better::kLower, true}, 1}};
  result.points[1].exact_value = INT64_MAX - number;
  result.kernels = {{"layer_norm<float, 80>", "132x1x1", "256x1x1", 40, 1024, 1, 1, 1'000'000 + number, 100'000},
                    {"layer_norm<float, 80>", "264x1x1", "256x1x1", 40, 1024, 2, 3, 1'000'000, 100'000},
                    {"vectorized_copy", std::nullopt, std::nullopt, std::nullopt, std::nullopt, 0, 1}};
  result.event_counts = {
      {EventKind::kKernel, std::nullopt, std::nullopt, "cudaLaunchKernel", 4, 4},
      {EventKind::kWait, std::nullopt, std::nullopt, "cudaMemcpy", 1, 1},
      {EventKind::kWait, std::nullopt, std::nullopt, "cudaStreamSynchronize", 2 + number, 2 + number},
      {EventKind::kHostToDevice, "pageable", "device", "cudaMemcpy", 1, 1, 4096, 4096},
      {EventKind::kHostToDevice, "pinned", "device", "cudaMemcpyAsync", 2, 2, 100, 100},
      {EventKind::kDeviceToHost, "device", "pageable", "cudaMemcpy", 0, 0, 0, 0},
      {EventKind::kMemset, std::nullopt, std::nullopt, "cudaMemsetAsync", 1, 2, 4, 8}};
  result.sync_sites = {{EventKind::kWait, "train.py", 41 + number, "step", "cudaStreamSynchronize", "aten::item",
                        "cudaStreamSynchronize", 20, 1'000, 2'000, 1'500, Confidence::kExact},
                       {EventKind::kQuerySpin, std::nullopt, std::nullopt, std::nullopt, std::nullopt, std::nullopt,
                        std::nullopt, 1, std::nullopt, std::nullopt, std::nullopt, Confidence::kInferred}};
  return result;
}

}  // namespace
}  // namespace store

namespace testing {

std::string RunUuid(int number) { return fmt::format("{:08x}-0000-4000-8000-000000000000", number); }

store::RunRecord FullRun(int number, int benchmark_count) {
  store::RunRecord run;
  run.info = store::FullInfo(number);
  for (int i = 0; i < benchmark_count; ++i) run.benchmarks.push_back(store::FullBenchmark(number, i));
  SortLists(run);
  return run;
}

store::RunRecord BareRun(const std::string& uuid) {
  store::RunRecord run;
  run.info.uuid = uuid;
  run.info.machine = "bench-2";
  run.info.producer = "0.1.0";
  store::BenchmarkResult& result = run.benchmarks.emplace_back();
  result.suite = "suite";
  result.name = "layer/0";
  result.points.push_back({{"gpu_time_ns", "ns", store::MetricKind::kTime, store::Better::kLower, false}, 0});
  result.kernels.push_back({"vectorized_copy"});
  result.event_counts.push_back({store::EventKind::kKernel});
  result.sync_sites.push_back({store::EventKind::kLoader});
  return run;
}

}  // namespace testing
}  // namespace stallhound
