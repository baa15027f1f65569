#include "kernels/radius_search/radius_search_nearest.cuh"
#include "kernels/radius_search/radius_search_sweep.cuh"

namespace stallhound::kernels {
namespace {

// A warp for each query.
__global__ void __launch_bounds__(kThreads)
    SearchNearest(const RadiusSearchArgs args, const CellIndex index, const LimitedRows rows, int capacity) {
  extern __shared__ uint64_t shared_keys[];
  const int warp = threadIdx.x / kWarpLanes;
  const int64_t row = static_cast<int64_t>(blockIdx.x) * (blockDim.x / kWarpLanes) + warp;
  if (row >= args.QueryRows()) return;
  NearestKeys nearest(shared_keys + warp * capacity, capacity, rows.max_neighbors);
  SweepCandidates(args, index, WarpQuery::At(args, row), [&](const Candidate& candidate) {
    nearest.Offer(candidate.is_neighbor, NeighborKey(candidate.squared_distance, candidate.point));
  });
  nearest.WriteRow(rows, row);
}

}  // namespace

cudaError_t RadiusSearchWorkspace(const RadiusSearchArgs& args, size_t* bytes) {
  Dealer dealer(nullptr);
  IndexMemory memory;
  const cudaError_t error = DealIndexMemory(args, &dealer, &memory);
  *bytes = dealer.bytes();
  return error;
}

cudaError_t LaunchLimitedSearch(const RadiusSearchArgs& args, const LimitedRows& rows, const Workspace& workspace,
                                cudaStream_t stream) {
  Dealer dealer(workspace.memory);
  IndexMemory memory;
  SH_RETURN_IF_CUDA_ERROR(DealIndexMemory(args, &dealer, &memory));
  if (dealer.bytes() > workspace.bytes) return cudaErrorInvalidValue;
  SH_RETURN_IF_CUDA_ERROR(BuildIndex(args, memory, stream));
  const NearestBlock block = NearestBlock::For(rows.max_neighbors);
  SearchNearest<<<BlocksFor(args.QueryRows(), block.warps), block.warps * kWarpLanes, block.shared_bytes, stream>>>(
      args, IndexIn(args, memory), rows, block.capacity);
  return cudaGetLastError();
}

}  // namespace stallhound::kernels
