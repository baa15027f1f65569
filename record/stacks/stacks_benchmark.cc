// What a native stack costs: `bazel run //record/stacks:stacks_benchmark`. Python stacks are measured under each
// interpreter by testdata/frames.py (scenario "cost"); README has the numbers.

#include <benchmark/benchmark.h>

#include "record/stacks/native_walk.h"

namespace stallhound::record {
namespace {

// `depth` more frames on the stack.
__attribute__((noinline)) int AtDepth(int64_t depth, uint64_t* addresses) {
  bool is_truncated = false;
  const int count = depth <= 0 ? WalkNativeFrames(addresses, 32, is_truncated) : AtDepth(depth - 1, addresses);
  benchmark::DoNotOptimize(addresses);
  return count;
}

void NativeStack(benchmark::State& state) {
  PrimeNativeWalk();
  uint64_t addresses[32];
  int count = 0;
  for (auto _ : state) count = AtDepth(state.range(0), addresses);
  state.counters["frames"] = count;
}
BENCHMARK(NativeStack)->Arg(0)->Arg(8)->Arg(16)->Arg(32);

}  // namespace
}  // namespace stallhound::record

BENCHMARK_MAIN();
