#include "bench/bench_main.h"

#include <ATen/Parallel.h>
#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <torch/headeronly/version.h>

#include <algorithm>
#include <cstdio>

#include "base/status_macros.h"
#include "base/version.h"
#include "bench/build_info.h"
#include "bench/harness/cuda_harness.h"
#include "bench/harness/marks.h"
#include "bench/options.h"
#include "bench/suites/pair_suite.h"
#include "kernels/case_runner.h"
#include "kernels/cuda_build.h"

namespace stallhound::bench {
namespace {

constexpr int kUsage = 2;
constexpr int kDataError = 3;
constexpr int kEnvironment = 4;
constexpr int kInternal = 70;

int ExitCode(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kOk:
      return 0;
    case absl::StatusCode::kInvalidArgument:
      return kUsage;
    case absl::StatusCode::kDataLoss:
      return kDataError;
    case absl::StatusCode::kInternal:
      return kInternal;
    default:
      return kEnvironment;
  }
}

// Of several failures: a wrong result before a bug before what the machine lacks.
int ExitCode(const std::vector<absl::Status>& errors) {
  std::vector<int> codes;
  for (const absl::Status& error : errors) codes.push_back(ExitCode(error));
  for (const int code : {kDataError, kInternal}) {
    if (std::find(codes.begin(), codes.end(), code) != codes.end()) return code;
  }
  return codes.empty() ? 0 : codes.front();
}

int Fail(const absl::Status& status) {
  fmt::print(stderr, "bench: {}\n", std::string(status.message()));
  return ExitCode(status);
}

absl::StatusOr<std::unique_ptr<Harness>> MakeHarness(const Options& options) {
  const kernels::Device device =
      options.device.value_or(kernels::HasCuda() ? kernels::Device::kCuda : kernels::Device::kCpu);
  if (device == kernels::Device::kCpu) return MakeCpuHarness();
  if constexpr (kernels::kHasCudaCode) {
    return MakeCudaHarness();
  } else {
    return absl::FailedPreconditionError(
        "cannot measure on cuda: built without nvcc; install the CUDA toolkit and build again");
  }
}

void AddContext(const Options& options, const Harness& harness) {
  const DeviceContext context = harness.Context();
  benchmark::AddCustomContext("stallhound_version", kVersion);
  benchmark::AddCustomContext("stallhound_pass", options.record_iterations ? "record" : "time");
  benchmark::AddCustomContext("stallhound_device", std::string(kernels::Name(harness.device())));
  benchmark::AddCustomContext("device_name", context.name);
  if (context.driver) benchmark::AddCustomContext("driver_version", *context.driver);
  benchmark::AddCustomContext("torch_version", TORCH_VERSION);
  benchmark::AddCustomContext("compiler", CompilerText());
  benchmark::AddCustomContext("build_flags", BuildFlagsText());
  benchmark::AddCustomContext("torch_threads", std::to_string(at::get_num_threads()));
  if (options.samples_path) benchmark::AddCustomContext("stallhound_samples", *options.samples_path);
}

absl::StatusOr<int> Run(const Options& options, std::span<const kernels::Pair> pairs) {
  SH_ASSIGN_OR_RETURN(const std::unique_ptr<Harness> harness, MakeHarness(options));
  SuiteRun run;
  run.harness = harness.get();
  run.settings.record_iterations = options.record_iterations;
  run.settings.check = options.check;
  if (options.min_time_ns) run.settings.rule = ShortenedRule(run.settings.rule, *options.min_time_ns);
  if (options.samples_path) {
    SH_ASSIGN_OR_RETURN(SideFile side_file, SideFile::Create(*options.samples_path));
    run.side_file.emplace(std::move(side_file));
  }
  AddContext(options, *harness);
  MarkOperators();
  RegisterPairs(pairs, run);
  const size_t matched = benchmark::RunSpecifiedBenchmarks();
  if (run.side_file) SH_RETURN_IF_ERROR(run.side_file->Finish());
  if (matched == 0) return absl::InvalidArgumentError("cannot run: --benchmark_filter matches no case of this device");
  return ExitCode(run.errors);
}

}  // namespace

int BenchMain(int argc, char** argv, std::span<const kernels::Pair> pairs) {
  const absl::StatusOr<Options> options = TakeOptions(&argc, argv);
  if (!options.ok()) return Fail(options.status());
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return kUsage;
  const absl::StatusOr<int> code = Run(*options, pairs);
  benchmark::Shutdown();
  return code.ok() ? *code : Fail(code.status());
}

}  // namespace stallhound::bench
