// Hunting in a spool of 5 million kernels with their launches, 1% waits with stacks and a gap behind every kernel.
// Memory: run under `/usr/bin/time -v`.

#include <benchmark/benchmark.h>
#include <stdlib.h>

#include <filesystem>
#include <string>

#include "analysis/hunt/hunt.h"
#include "capture/spool/generate_spool.h"
#include "capture/spool/reader.h"

namespace stallhound::analysis {
namespace {

constexpr int64_t kKernelCount = 5'000'000;

void BM_Hunt(benchmark::State& state) {
  char folder[] = "/tmp/stallhound-benchmark-XXXXXX";
  if (mkdtemp(folder) == nullptr) return state.SkipWithError("making a folder in /tmp failed");
  capture::spool::GeneratedSpool options;
  options.kernel_count = kKernelCount;
  const std::string path = capture::spool::GenerateSpool(folder, options);
  for (auto _ : state) {
    auto reader = capture::OpenSpools({path});
    HuntOptions hunt_options;
    if (state.range(0) != 0) hunt_options.range = "step";
    if (!reader.ok() || !Hunt(**reader, hunt_options).ok()) state.SkipWithError("hunting failed");
  }
  state.SetItemsProcessed(state.iterations() * kKernelCount);
  std::filesystem::remove_all(folder);
}
BENCHMARK(BM_Hunt)->ArgName("in_range")->Arg(0)->Arg(1)->Iterations(1)->Unit(benchmark::kSecond);

}  // namespace
}  // namespace stallhound::analysis

BENCHMARK_MAIN();
