#include "kernels/radius_search/radius_search_index.cuh"
#include "kernels/radius_search/radius_search_nearest.cuh"

namespace stallhound::kernels {
namespace {

constexpr int kTableBits = 7;  // along each axis
constexpr int kTableMask = (1 << kTableBits) - 1;
constexpr size_t kTableCells = size_t{1} << 3 * kTableBits;
constexpr int kQueryThreads = 32;

struct HashGrid {
  CellGrid grid;
  SortMemory sort;
  int32_t* cell_begins = nullptr;
  int32_t* cell_ends = nullptr;
};

// The table repeats itself in space.
__device__ __forceinline__ uint32_t TableCell(const Cell& cell) {
  return static_cast<uint32_t>(((cell.z & kTableMask) << kTableBits | (cell.y & kTableMask)) << kTableBits |
                               (cell.x & kTableMask));
}

__global__ void __launch_bounds__(kThreads) MakeCells(const RadiusSearchArgs args, const HashGrid hash) {
  const int64_t row = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (row >= args.PointRows()) return;
  hash.sort.keys[row] = TableCell(hash.grid.CellOf(PositionAt(args.points, row)));
  hash.sort.rows[row] = static_cast<int32_t>(row);
}

__global__ void __launch_bounds__(kThreads) MarkBoundaries(const RadiusSearchArgs args, const HashGrid hash) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  const int64_t point_rows = args.PointRows();
  if (i >= point_rows) return;
  const uint32_t cell = hash.sort.sorted_keys[i];
  if (i == 0 || hash.sort.sorted_keys[i - 1] != cell) hash.cell_begins[cell] = static_cast<int32_t>(i);
  if (i == point_rows - 1 || hash.sort.sorted_keys[i + 1] != cell) hash.cell_ends[cell] = static_cast<int32_t>(i) + 1;
}

// Calls take(point in its batch, squared distance) for each neighbour of one query.
template <typename Take>
__device__ __forceinline__ void VisitNeighbors(const RadiusSearchArgs& args, const HashGrid& hash, int64_t row,
                                               const Take& take) {
  const Position query = PositionAt(args.queries, row);
  const float squared_radius = args.radius * args.radius;
  const int64_t first_point = row / args.query_count * args.point_count;
  const CellBox box = hash.grid.BoxOf(query);
  const int32_t cell_count = box.Size();
  for (int32_t i = 0; i < cell_count; ++i) {
    const uint32_t cell = TableCell(box.At(i));
    const int32_t end = hash.cell_ends[cell];
    for (int32_t k = hash.cell_begins[cell]; k < end; ++k) {
      const int32_t point_row = hash.sort.sorted_rows[k];
      const float squared_distance = SquaredDistance(query, PositionAt(args.points, point_row));
      const int64_t point = point_row - first_point;
      if (squared_distance <= squared_radius && point >= 0 && point < args.point_count) {
        take(static_cast<int32_t>(point), squared_distance);
      }
    }
  }
}

__global__ void __launch_bounds__(kQueryThreads)
    CountPlainly(const RadiusSearchArgs args, const HashGrid hash, int64_t* counts) {
  const int64_t row = static_cast<int64_t>(blockIdx.x) * kQueryThreads + threadIdx.x;
  if (row > args.QueryRows()) return;
  int64_t count = 0;
  if (row < args.QueryRows()) VisitNeighbors(args, hash, row, [&](int32_t, float) { ++count; });
  counts[row] = count;
}

__global__ void __launch_bounds__(kQueryThreads)
    WritePlainly(const RadiusSearchArgs args, const HashGrid hash, const ExactRows rows) {
  const int64_t row = static_cast<int64_t>(blockIdx.x) * kQueryThreads + threadIdx.x;
  if (row >= args.QueryRows()) return;
  int64_t next = rows.row_begins[row];
  VisitNeighbors(args, hash, row, [&](int32_t point, float squared_distance) {
    rows.indices[next] = point;
    rows.distances[next] = sqrtf(squared_distance);
    ++next;
  });
}

// A warp for each row.
__global__ void __launch_bounds__(kThreads)
    CutRows(const RadiusSearchArgs args, const ExactRows all, const LimitedRows rows, int capacity) {
  extern __shared__ uint64_t shared_keys[];
  const int warp = threadIdx.x / kWarpLanes;
  const int64_t row = static_cast<int64_t>(blockIdx.x) * (blockDim.x / kWarpLanes) + warp;
  if (row >= args.QueryRows()) return;
  const Position query = PositionAt(args.queries, row);
  const int64_t first_point = row / args.query_count * args.point_count;
  NearestKeys nearest(shared_keys + warp * capacity, capacity, rows.max_neighbors);
  const int64_t end = all.row_begins[row + 1];
  for (int64_t first = all.row_begins[row]; first < end; first += kWarpLanes) {
    const int64_t i = first + LaneIndex();
    const int32_t point = i < end ? all.indices[i] : 0;
    const float squared_distance = SquaredDistance(query, PositionAt(args.points, first_point + point));
    nearest.Offer(i < end, NeighborKey(squared_distance, point));
  }
  nearest.WriteRow(rows, row);
}

cudaError_t DealHashGrid(const RadiusSearchArgs& args, Dealer* dealer, HashGrid* hash) {
  hash->grid = CellGrid::Make(args.radius, 0.5f);
  SH_RETURN_IF_CUDA_ERROR(DealSortMemory(args, 3 * kTableBits, dealer, &hash->sort));
  hash->cell_begins = dealer->Deal<int32_t>(kTableCells);
  hash->cell_ends = dealer->Deal<int32_t>(kTableCells);
  return cudaSuccess;
}

cudaError_t BuildHashGrid(const RadiusSearchArgs& args, const HashGrid& hash, cudaStream_t stream) {
  const unsigned blocks = BlocksFor(args.PointRows(), kThreads);
  MakeCells<<<blocks, kThreads, 0, stream>>>(args, hash);
  SH_RETURN_IF_CUDA_ERROR(cudaGetLastError());
  SH_RETURN_IF_CUDA_ERROR(SortPoints(args, 3 * kTableBits, hash.sort, stream));
  for (int32_t* table : {hash.cell_begins, hash.cell_ends}) {
    SH_RETURN_IF_CUDA_ERROR(cudaMemsetAsync(table, 0, kTableCells * sizeof(int32_t), stream));
  }
  MarkBoundaries<<<blocks, kThreads, 0, stream>>>(args, hash);
  return cudaGetLastError();
}

}  // namespace

cudaError_t HashGridWorkspace(const RadiusSearchArgs& args, size_t* bytes) {
  Dealer dealer(nullptr);
  HashGrid hash;
  const cudaError_t error = DealHashGrid(args, &dealer, &hash);
  *bytes = dealer.bytes();
  return error;
}

cudaError_t LaunchHashGridCount(const RadiusSearchArgs& args, const ExactRows& rows, const Workspace& workspace,
                                cudaStream_t stream) {
  Dealer dealer(workspace.memory);
  HashGrid hash;
  SH_RETURN_IF_CUDA_ERROR(DealHashGrid(args, &dealer, &hash));
  if (dealer.bytes() > workspace.bytes) return cudaErrorInvalidValue;
  SH_RETURN_IF_CUDA_ERROR(BuildHashGrid(args, hash, stream));
  CountPlainly<<<BlocksFor(args.QueryRows() + 1, kQueryThreads), kQueryThreads, 0, stream>>>(args, hash,
                                                                                             rows.row_begins);
  SH_RETURN_IF_CUDA_ERROR(cudaGetLastError());
  return ScanCounts(args, rows.row_begins, hash.sort, stream);
}

cudaError_t LaunchHashGridWrite(const RadiusSearchArgs& args, const ExactRows& rows, const Workspace& workspace,
                                cudaStream_t stream) {
  Dealer dealer(workspace.memory);
  HashGrid hash;
  SH_RETURN_IF_CUDA_ERROR(DealHashGrid(args, &dealer, &hash));
  WritePlainly<<<BlocksFor(args.QueryRows(), kQueryThreads), kQueryThreads, 0, stream>>>(args, hash, rows);
  return cudaGetLastError();
}

cudaError_t LaunchHashGridCut(const RadiusSearchArgs& args, const ExactRows& all, const LimitedRows& rows,
                              cudaStream_t stream) {
  const NearestBlock block = NearestBlock::For(rows.max_neighbors);
  CutRows<<<BlocksFor(args.QueryRows(), block.warps), block.warps * kWarpLanes, block.shared_bytes, stream>>>(
      args, all, rows, block.capacity);
  return cudaGetLastError();
}

}  // namespace stallhound::kernels
