#include "bench/harness/checked_shape.h"

#include <absl/algorithm/container.h>
#include <fmt/format.h>

#include "base/units.h"
#include "kernels/case_check.h"

namespace stallhound::bench {
namespace {

using kernels::Case;
using kernels::CheckBytes;
using kernels::Pair;
using kernels::Shape;

bool IsSmallerOfSameWidth(const Shape& shape, const Shape& than) {
  return !shape.dims.empty() && shape.dims.size() == than.dims.size() && shape.dims[0] > 0 &&
         shape.dims[0] < than.dims[0] && std::equal(shape.dims.begin() + 1, shape.dims.end(), than.dims.begin() + 1) &&
         shape.scalars == than.scalars;
}

}  // namespace

std::vector<Case> CheckCandidates(const Pair& pair, const Case& benchmark_case) {
  std::vector<Case> candidates = {benchmark_case};
  for (const std::vector<Shape>* shapes : {&pair.cuda_shapes, &pair.cpu_shapes, &pair.awkward_shapes}) {
    for (const Shape& shape : *shapes) {
      if (!IsSmallerOfSameWidth(shape, benchmark_case.shape)) continue;
      candidates.push_back(benchmark_case);
      candidates.back().shape = shape;
    }
  }
  absl::c_stable_sort(candidates, [](const Case& a, const Case& b) {
    return !a.shape.dims.empty() && a.shape.dims[0] > b.shape.dims[0];
  });
  return candidates;
}

absl::StatusOr<std::string> CheckWithinMemory(const BenchCase& bench_case, kernels::Device device,
                                              int64_t limit_bytes) {
  const std::vector<Case> candidates = CheckCandidates(*bench_case.pair, bench_case.benchmark_case);
  for (const Case& candidate : candidates) {
    if (CheckBytes(*bench_case.pair, candidate) > limit_bytes) continue;
    const absl::Status status =
        kernels::CheckCase(*bench_case.pair, *bench_case.variant, candidate, {.device = device});
    if (absl::IsResourceExhausted(status)) continue;
    if (!status.ok()) return status;
    return candidate.shape.name;
  }
  return absl::ResourceExhaustedError(
      fmt::format("cannot check {}: its smallest shape of this width needs {} on {}, {} may be used; add a smaller "
                  "one to the layer's descriptor",
                  bench_case.Id(), FormatBytes(CheckBytes(*bench_case.pair, candidates.back())), kernels::Name(device),
                  FormatBytes(limit_bytes)));
}

}  // namespace stallhound::bench
