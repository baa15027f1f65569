#include "kernels/radius_search/radius_search_sweep.cuh"

namespace stallhound::kernels {
namespace {

constexpr int kWarps = kThreads / kWarpLanes;

// A warp for each query, and one for the entry behind the last row.
__global__ void __launch_bounds__(kThreads)
    CountNeighbors(const RadiusSearchArgs args, const CellIndex index, int64_t* counts) {
  const int64_t row = static_cast<int64_t>(blockIdx.x) * kWarps + threadIdx.x / kWarpLanes;
  if (row > args.QueryRows()) return;
  unsigned count = 0;
  if (row < args.QueryRows()) {
    SweepCandidates(args, index, WarpQuery::At(args, row),
                    [&](const Candidate& candidate) { count += candidate.is_neighbor; });
  }
  count = __reduce_add_sync(kAllLanes, count);
  if (threadIdx.x % kWarpLanes == 0) counts[row] = count;
}

__global__ void __launch_bounds__(kThreads)
    WriteNeighbors(const RadiusSearchArgs args, const CellIndex index, const ExactRows rows) {
  const int64_t row = static_cast<int64_t>(blockIdx.x) * kWarps + threadIdx.x / kWarpLanes;
  if (row >= args.QueryRows()) return;
  int64_t next = rows.row_begins[row];
  const unsigned lanes_before = (1u << threadIdx.x % kWarpLanes) - 1;
  SweepCandidates(args, index, WarpQuery::At(args, row), [&](const Candidate& candidate) {
    const unsigned neighbors = __ballot_sync(kAllLanes, candidate.is_neighbor);
    if (candidate.is_neighbor) {
      const int64_t slot = next + __popc(neighbors & lanes_before);
      rows.indices[slot] = candidate.point;
      rows.distances[slot] = sqrtf(candidate.squared_distance);
    }
    next += __popc(neighbors);
  });
}

}  // namespace

cudaError_t LaunchExactCount(const RadiusSearchArgs& args, const ExactRows& rows, const Workspace& workspace,
                             cudaStream_t stream) {
  Dealer dealer(workspace.memory);
  IndexMemory memory;
  SH_RETURN_IF_CUDA_ERROR(DealIndexMemory(args, &dealer, &memory));
  if (dealer.bytes() > workspace.bytes) return cudaErrorInvalidValue;
  SH_RETURN_IF_CUDA_ERROR(BuildIndex(args, memory, stream));
  CountNeighbors<<<BlocksFor(args.QueryRows() + 1, kWarps), kThreads, 0, stream>>>(args, IndexIn(args, memory),
                                                                                   rows.row_begins);
  SH_RETURN_IF_CUDA_ERROR(cudaGetLastError());
  return ScanCounts(args, rows.row_begins, memory.sort, stream);
}

cudaError_t LaunchExactWrite(const RadiusSearchArgs& args, const ExactRows& rows, const Workspace& workspace,
                             cudaStream_t stream) {
  Dealer dealer(workspace.memory);
  IndexMemory memory;
  SH_RETURN_IF_CUDA_ERROR(DealIndexMemory(args, &dealer, &memory));
  WriteNeighbors<<<BlocksFor(args.QueryRows(), kWarps), kThreads, 0, stream>>>(args, IndexIn(args, memory), rows);
  return cudaGetLastError();
}

}  // namespace stallhound::kernels
