#pragma once

// The kernels behind RadiusSearch*, on raw pointers; free of LibTorch. Contract: radius_search.h. All arrays are
// contiguous and need the alignment of their element only; there is at least one point and one query.

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <functional>

namespace stallhound::kernels {

struct RadiusSearchArgs {
  const float* points = nullptr;   // [batch_count, point_count, 3]
  const float* queries = nullptr;  // [batch_count, query_count, 3]
  int64_t batch_count = 0;
  int64_t point_count = 0;  // of one batch
  int64_t query_count = 0;  // of one batch
  float radius = 0;

  __host__ __device__ int64_t PointRows() const { return batch_count * point_count; }
  __host__ __device__ int64_t QueryRows() const { return batch_count * query_count; }
};

// Device memory that the launchers below share from the first to the last call of one search, aligned to 256 bytes.
struct Workspace {
  void* memory = nullptr;
  size_t bytes = 0;
};

struct LimitedRows {
  int32_t max_neighbors = 0;
  int32_t* indices = nullptr;  // [rows, max_neighbors]
  float* distances = nullptr;  // [rows, max_neighbors]
  int32_t* counts = nullptr;   // [rows]
};

struct ExactRows {
  int64_t* row_begins = nullptr;  // [rows + 1]
  int32_t* indices = nullptr;     // [pairs]
  float* distances = nullptr;     // [pairs]
};

// Launchers enqueue on `stream` and return; they never wait and allocate nothing. cudaErrorInvalidValue: workspace too
// small.
[[nodiscard]] cudaError_t RadiusSearchWorkspace(const RadiusSearchArgs& args, size_t* bytes);
[[nodiscard]] cudaError_t LaunchLimitedSearch(const RadiusSearchArgs& args, const LimitedRows& rows,
                                              const Workspace& workspace, cudaStream_t stream);
// Counting sets row_begins; writing reads them and sets the rest.
[[nodiscard]] cudaError_t LaunchExactCount(const RadiusSearchArgs& args, const ExactRows& rows,
                                           const Workspace& workspace, cudaStream_t stream);
[[nodiscard]] cudaError_t LaunchExactWrite(const RadiusSearchArgs& args, const ExactRows& rows,
                                           const Workspace& workspace, cudaStream_t stream);

// The same by the published hash grid.
[[nodiscard]] cudaError_t HashGridWorkspace(const RadiusSearchArgs& args, size_t* bytes);
[[nodiscard]] cudaError_t LaunchHashGridCount(const RadiusSearchArgs& args, const ExactRows& rows,
                                              const Workspace& workspace, cudaStream_t stream);
[[nodiscard]] cudaError_t LaunchHashGridWrite(const RadiusSearchArgs& args, const ExactRows& rows,
                                              const Workspace& workspace, cudaStream_t stream);
// Keeps the nearest of each row of `all`.
[[nodiscard]] cudaError_t LaunchHashGridCut(const RadiusSearchArgs& args, const ExactRows& all, const LimitedRows& rows,
                                            cudaStream_t stream);

// On host memory, in at::parallel_for.
void LimitedSearchCpu(const RadiusSearchArgs& args, const LimitedRows& rows);
// Sets `row_begins`, then asks once for rows with room for so many pairs and fills them.
void ExactSearchCpu(const RadiusSearchArgs& args, int64_t* row_begins,
                    const std::function<ExactRows(int64_t pair_count)>& allocate);

}  // namespace stallhound::kernels
