#pragma once

// A case with several sets of inputs, taken in turn, so that no iteration finds in a cache what the one before it read.

#include <absl/status/statusor.h>

#include <cstdint>
#include <vector>

#include "kernels/case_runner.h"

namespace stallhound::bench {

struct BenchCase {
  const kernels::Pair* pair = nullptr;
  const kernels::Variant* variant = nullptr;
  kernels::Case benchmark_case;

  std::string Id() const { return kernels::CaseId(*pair, *variant, benchmark_case); }
};

class InputSets {
 public:
  static constexpr int64_t kMaxCount = 4;

  // Sets with the seeds 1, 2, ...: as many as fit into a quarter of `available_bytes`, each taken for twice the case's
  // bytes, at least one and at most kMaxCount. Errors: those of CaseRunner::Create for the first set; that a further
  // one does not fit is none.
  static absl::StatusOr<InputSets> Create(const BenchCase& bench_case, kernels::Device device, int64_t available_bytes);

  int64_t count() const { return static_cast<int64_t>(runners_.size()); }
  kernels::CaseRunner& at(int64_t index) { return runners_[static_cast<size_t>(index % count())]; }

 private:
  std::vector<kernels::CaseRunner> runners_;
};

}  // namespace stallhound::bench
