#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include "kernels/cuda_build.h"
#include "kernels/radius_search/radius_search.h"
#include "kernels/radius_search/radius_search_launch.h"

namespace stallhound::kernels::radius_search {
namespace {

constexpr int64_t kMostRows = int64_t{1} << 30;
constexpr double kLargestRadius = 1e18;

// The inputs of one search, checked and contiguous.
class Problem {
 public:
  Problem(const at::Tensor& points, const at::Tensor& queries, double radius) {
    Check(points, queries, radius);
    points_ = points.contiguous();
    queries_ = queries.contiguous();
    args_.points = points_.const_data_ptr<float>();
    args_.queries = queries_.const_data_ptr<float>();
    args_.batch_count = points_.dim() == 3 ? points_.size(0) : 1;
    args_.point_count = points_.size(-2);
    args_.query_count = queries_.size(-2);
    args_.radius = static_cast<float>(radius);
    TORCH_CHECK(args_.PointRows() <= kMostRows && args_.QueryRows() <= kMostRows, "radius search of ",
                args_.QueryRows(), " queries among ", args_.PointRows(), " points: at most ", kMostRows, " of each");
  }

  const RadiusSearchArgs& args() const { return args_; }
  at::Device device() const { return points_.device(); }
  bool IsEmpty() const { return args_.PointRows() == 0 || args_.QueryRows() == 0; }
  at::TensorOptions Options(at::ScalarType type) const { return points_.options().dtype(type); }
  std::vector<int64_t> RowSizes() const { return queries_.sizes().slice(0, queries_.dim() - 1).vec(); }

 private:
  static void Check(const at::Tensor& points, const at::Tensor& queries, double radius) {
    for (const at::Tensor& positions : {points, queries}) {
      TORCH_CHECK((positions.dim() == 2 || positions.dim() == 3) && positions.size(-1) == 3,
                  "radius search of positions ", positions.sizes(), ": must be [count, 3] or [batch, count, 3]");
      TORCH_CHECK(positions.scalar_type() == at::kFloat, "radius search of positions of type ", positions.scalar_type(),
                  ": only float");
    }
    TORCH_CHECK(points.dim() == queries.dim() && (points.dim() == 2 || points.size(0) == queries.size(0)),
                "radius search of queries ", queries.sizes(), " among points ", points.sizes(),
                ": batches must be alike");
    TORCH_CHECK(points.device() == queries.device(), "radius search of queries on ", queries.device(),
                " among points on ", points.device(), ": must be on one device");
    TORCH_CHECK(points.is_cpu() || points.is_cuda(), "radius search on ", points.device(), ": only CPU and CUDA");
    TORCH_CHECK(!points.is_cuda() || kHasCudaCode, "radius search on ", points.device(), ": built without nvcc");
    TORCH_CHECK(radius >= 0 && radius <= kLargestRadius, "radius search with radius ", radius, ": must be from 0 to ",
                kLargestRadius);
  }

  at::Tensor points_;
  at::Tensor queries_;
  RadiusSearchArgs args_;
};

void CheckMaxNeighbors(int64_t max_neighbors) {
  TORCH_CHECK(max_neighbors >= 1 && max_neighbors <= kMostNeighbors, "radius search for ", max_neighbors,
              " neighbours: must be from 1 to ", kMostNeighbors, "; the exact search gives all");
}

// Zeros if nothing will be written.
LimitedNeighbors MakeLimited(const Problem& problem, int64_t max_neighbors) {
  const auto make = [&](at::IntArrayRef sizes, at::ScalarType type) {
    return problem.IsEmpty() ? at::zeros(sizes, problem.Options(type)) : at::empty(sizes, problem.Options(type));
  };
  std::vector<int64_t> sizes = problem.RowSizes();
  const at::Tensor counts = make(sizes, at::kInt);
  sizes.push_back(max_neighbors);
  return {make(sizes, at::kInt), make(sizes, at::kFloat), counts};
}

LimitedRows RowsOf(const LimitedNeighbors& neighbors) {
  return {.max_neighbors = static_cast<int32_t>(neighbors.indices.size(-1)),
          .indices = neighbors.indices.mutable_data_ptr<int32_t>(),
          .distances = neighbors.distances.mutable_data_ptr<float>(),
          .counts = neighbors.counts.mutable_data_ptr<int32_t>()};
}

ExactRows RowsOf(const ExactNeighbors& neighbors) {
  return {.row_begins = neighbors.row_begins.mutable_data_ptr<int64_t>(),
          .indices = neighbors.indices.mutable_data_ptr<int32_t>(),
          .distances = neighbors.distances.mutable_data_ptr<float>()};
}

void AllocatePairs(const Problem& problem, int64_t pair_count, ExactNeighbors* neighbors) {
  neighbors->indices = at::empty({pair_count}, problem.Options(at::kInt));
  neighbors->distances = at::empty({pair_count}, problem.Options(at::kFloat));
}

at::Tensor MakeWorkspace(const Problem& problem, cudaError_t (*measure)(const RadiusSearchArgs&, size_t*)) {
  size_t bytes = 0;
  CheckLaunch(measure(problem.args(), &bytes), "radius search");
  return at::empty({static_cast<int64_t>(bytes)}, problem.Options(at::kByte));
}

Workspace WorkspaceIn(const at::Tensor& memory) {
  return {memory.mutable_data_ptr(), static_cast<size_t>(memory.numel())};
}

LimitedNeighbors LimitedCuda(const Problem& problem, int64_t max_neighbors) {
  LimitedNeighbors neighbors = MakeLimited(problem, max_neighbors);
  if constexpr (kHasCudaCode) {
    const at::Tensor memory = MakeWorkspace(problem, RadiusSearchWorkspace);
    CheckLaunch(
        LaunchLimitedSearch(problem.args(), RowsOf(neighbors), WorkspaceIn(memory), c10::cuda::getCurrentCUDAStream()),
        "limited radius search");
  }
  return neighbors;
}

// One copy to pinned memory and one wait.
int64_t ReadBack(const at::Tensor& number) {
  const at::Tensor host = at::empty({1}, at::TensorOptions().dtype(at::kLong).pinned_memory(true));
  host.copy_(number, /*non_blocking=*/true);
  c10::cuda::getCurrentCUDAStream().synchronize();
  return *host.const_data_ptr<int64_t>();
}

// Counts, reads the total back, writes.
struct ExactAlgorithm {
  using Launch = cudaError_t(const RadiusSearchArgs&, const ExactRows&, const Workspace&, cudaStream_t);

  cudaError_t (*measure)(const RadiusSearchArgs&, size_t*) = nullptr;
  Launch* count = nullptr;
  Launch* write = nullptr;

  ExactNeighbors Run(const Problem& problem) const {
    const cudaStream_t stream = c10::cuda::getCurrentCUDAStream();
    const int64_t row_count = problem.args().QueryRows();
    const at::Tensor memory = MakeWorkspace(problem, measure);
    ExactNeighbors neighbors;
    neighbors.row_begins = at::empty({row_count + 1}, problem.Options(at::kLong));
    CheckLaunch(count(problem.args(), {.row_begins = neighbors.row_begins.mutable_data_ptr<int64_t>()},
                      WorkspaceIn(memory), stream),
                "count of a radius search");
    AllocatePairs(problem, ReadBack(neighbors.row_begins.narrow(0, row_count, 1)), &neighbors);
    CheckLaunch(write(problem.args(), RowsOf(neighbors), WorkspaceIn(memory), stream), "write of a radius search");
    return neighbors;
  }
};

ExactNeighbors EmptyExact(const Problem& problem) {
  ExactNeighbors neighbors;
  neighbors.row_begins = at::zeros({problem.args().QueryRows() + 1}, problem.Options(at::kLong));
  AllocatePairs(problem, 0, &neighbors);
  return neighbors;
}

ExactNeighbors ExactCpu(const Problem& problem) {
  ExactNeighbors neighbors;
  neighbors.row_begins = at::empty({problem.args().QueryRows() + 1}, problem.Options(at::kLong));
  ExactSearchCpu(problem.args(), neighbors.row_begins.mutable_data_ptr<int64_t>(), [&](int64_t pair_count) {
    AllocatePairs(problem, pair_count, &neighbors);
    return RowsOf(neighbors);
  });
  return neighbors;
}

ExactNeighbors ExactHashGrid(const Problem& problem) {
  if constexpr (kHasCudaCode) {
    return ExactAlgorithm{HashGridWorkspace, LaunchHashGridCount, LaunchHashGridWrite}.Run(problem);
  }
  return {};
}

void CheckIsCuda(const at::Tensor& points) {
  TORCH_CHECK(points.is_cuda(), "radius search by hash grid on ", points.device(), ": only CUDA");
}

}  // namespace

LimitedNeighbors LimitedSearchOptimized(const at::Tensor& points, const at::Tensor& queries, double radius,
                                        int64_t max_neighbors) {
  const at::NoGradGuard no_gradients;
  CheckMaxNeighbors(max_neighbors);
  const Problem problem(points, queries, radius);
  const c10::cuda::OptionalCUDAGuard guard(points.is_cuda() ? std::optional(points.device()) : std::nullopt);
  if (points.is_cuda() && !problem.IsEmpty()) return LimitedCuda(problem, max_neighbors);
  LimitedNeighbors neighbors = MakeLimited(problem, max_neighbors);
  if (!problem.IsEmpty()) LimitedSearchCpu(problem.args(), RowsOf(neighbors));
  return neighbors;
}

ExactNeighbors ExactSearchOptimized(const at::Tensor& points, const at::Tensor& queries, double radius) {
  const at::NoGradGuard no_gradients;
  const Problem problem(points, queries, radius);
  const c10::cuda::OptionalCUDAGuard guard(points.is_cuda() ? std::optional(points.device()) : std::nullopt);
  if (problem.IsEmpty()) return EmptyExact(problem);
  if constexpr (kHasCudaCode) {
    if (points.is_cuda()) {
      return ExactAlgorithm{RadiusSearchWorkspace, LaunchExactCount, LaunchExactWrite}.Run(problem);
    }
  }
  return ExactCpu(problem);
}

LimitedNeighbors LimitedSearchHashGrid(const at::Tensor& points, const at::Tensor& queries, double radius,
                                       int64_t max_neighbors) {
  const at::NoGradGuard no_gradients;
  CheckMaxNeighbors(max_neighbors);
  CheckIsCuda(points);
  const Problem problem(points, queries, radius);
  const c10::cuda::CUDAGuard guard(points.device());
  LimitedNeighbors neighbors = MakeLimited(problem, max_neighbors);
  if (problem.IsEmpty()) return neighbors;
  const ExactNeighbors all = ExactHashGrid(problem);
  if constexpr (kHasCudaCode) {
    CheckLaunch(LaunchHashGridCut(problem.args(), RowsOf(all), RowsOf(neighbors), c10::cuda::getCurrentCUDAStream()),
                "cut of a radius search");
  }
  return neighbors;
}

ExactNeighbors ExactSearchHashGrid(const at::Tensor& points, const at::Tensor& queries, double radius) {
  const at::NoGradGuard no_gradients;
  CheckIsCuda(points);
  const Problem problem(points, queries, radius);
  const c10::cuda::CUDAGuard guard(points.device());
  return problem.IsEmpty() ? EmptyExact(problem) : ExactHashGrid(problem);
}

}  // namespace stallhound::kernels::radius_search
