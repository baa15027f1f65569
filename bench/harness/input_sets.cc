#include "bench/harness/input_sets.h"

#include <algorithm>

namespace stallhound::bench {

absl::StatusOr<InputSets> InputSets::Create(const BenchCase& bench_case, kernels::Device device,
                                            int64_t available_bytes) {
  const int64_t set_bytes = std::max<int64_t>(1, 2 * bench_case.pair->bytes(bench_case.benchmark_case));
  const int64_t count = std::clamp<int64_t>(available_bytes / 4 / set_bytes, 1, kMaxCount);
  InputSets sets;
  for (int64_t seed = 1; seed <= count; ++seed) {
    absl::StatusOr<kernels::CaseRunner> runner =
        kernels::CaseRunner::Create(*bench_case.pair, *bench_case.variant, bench_case.benchmark_case,
                                    {.device = device, .seed = static_cast<uint64_t>(seed)});
    if (!runner.ok()) {
      if (sets.runners_.empty() || !absl::IsResourceExhausted(runner.status())) return runner.status();
      break;
    }
    sets.runners_.push_back(*std::move(runner));
  }
  return sets;
}

}  // namespace stallhound::bench
