#include "analysis/cases/case_kernels.h"

#include <algorithm>
#include <map>
#include <string>

#include "analysis/gate/counts.h"

namespace stallhound::analysis {
namespace {

bool ChangesAtTheEnd(const std::vector<int64_t>& per_iteration) {
  const auto count = std::min<int64_t>(gate::kLeastIterationCount, static_cast<int64_t>(per_iteration.size()));
  const auto first = per_iteration.end() - count;
  return std::adjacent_find(first, per_iteration.end(), std::not_equal_to<>()) != per_iteration.end();
}

template <typename T>
void KeepEqual(std::optional<T>& kept, const std::optional<T>& other) {
  if (kept != other) kept.reset();
}

void Merge(CaseKernel& kernel, const KernelKey& key, const std::vector<KernelCall>& calls) {
  KeepEqual(kernel.key.grid, key.grid);
  KeepEqual(kernel.key.block, key.block);
  KeepEqual(kernel.key.register_count, key.register_count);
  KeepEqual(kernel.key.shared_memory_bytes, key.shared_memory_bytes);
  kernel.calls.insert(kernel.calls.end(), calls.begin(), calls.end());
}

}  // namespace

std::vector<int64_t> CallsByIteration(const std::vector<KernelCall>& calls, size_t iteration_count) {
  std::vector<int64_t> counts(iteration_count);
  for (const KernelCall& call : calls) ++counts[static_cast<size_t>(call.iteration)];
  return counts;
}

std::vector<CaseKernel> KernelsOfCase(const CaseDirectory& directory, const CaseEvents& events) {
  std::vector<CaseKernel> kernels;
  std::map<std::string, size_t> changing;  // by name
  for (const auto& [index, calls] : events.kernels) {
    const KernelKey& key = directory.kernels()[index];
    if (ChangesAtTheEnd(CallsByIteration(calls, events.iterations.size()))) {
      const auto [known, is_new] = changing.try_emplace(key.name, kernels.size());
      if (!is_new) {
        Merge(kernels[known->second], key, calls);
        continue;
      }
    }
    kernels.push_back({key, calls});
  }
  return kernels;
}

}  // namespace stallhound::analysis
