#include <algorithm>
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>

#include "kernels/radius_search/radius_search_index.cuh"

namespace stallhound::kernels {
namespace {

__global__ void __launch_bounds__(kThreads)
    MakeKeys(const RadiusSearchArgs args, const CellGrid grid, uint32_t bucket_mask, const SortMemory memory) {
  const int64_t row = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (row >= args.PointRows()) return;
  const auto batch = static_cast<uint32_t>(row / args.point_count);
  memory.keys[row] = BucketOf(grid.CellOf(PositionAt(args.points, row)), batch, bucket_mask);
  memory.rows[row] = static_cast<int32_t>(row);
}

// A thread for each point, which packs it, and for each bucket, which finds its begin: no table needs to be cleared.
__global__ void __launch_bounds__(kThreads)
    PackPoints(const RadiusSearchArgs args, uint32_t bucket_mask, const IndexMemory memory) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  const int64_t point_rows = args.PointRows();
  if (i < point_rows) {
    const int32_t row = memory.sort.sorted_rows[i];
    const Position p = PositionAt(args.points, row);
    memory.records[i] = make_float4(p.x, p.y, p.z, __int_as_float(row));
  }
  const int64_t bucket = i;
  if (bucket > int64_t{bucket_mask} + 1) return;
  int64_t low = 0;
  int64_t high = point_rows;
  while (low < high) {
    const int64_t middle = (low + high) / 2;
    if (memory.sort.sorted_keys[middle] < bucket) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  memory.bucket_begins[bucket] = static_cast<int32_t>(low);
}

cudaError_t Sort(const RadiusSearchArgs& args, int key_bits, const SortMemory& memory, size_t* scratch_bytes,
                 cudaStream_t stream) {
  return cub::DeviceRadixSort::SortPairs(memory.scratch, *scratch_bytes, memory.keys, memory.sorted_keys, memory.rows,
                                         memory.sorted_rows, static_cast<int>(args.PointRows()), 0, key_bits, stream);
}

cudaError_t Scan(const RadiusSearchArgs& args, int64_t* row_begins, void* scratch, size_t* scratch_bytes,
                 cudaStream_t stream) {
  return cub::DeviceScan::ExclusiveSum(scratch, *scratch_bytes, row_begins, row_begins,
                                       static_cast<int>(args.QueryRows() + 1), stream);
}

}  // namespace

cudaError_t DealSortMemory(const RadiusSearchArgs& args, int key_bits, Dealer* dealer, SortMemory* memory) {
  size_t sort_bytes = 0;
  size_t scan_bytes = 0;
  SH_RETURN_IF_CUDA_ERROR(Sort(args, key_bits, {}, &sort_bytes, nullptr));
  SH_RETURN_IF_CUDA_ERROR(Scan(args, nullptr, nullptr, &scan_bytes, nullptr));
  const int64_t point_rows = args.PointRows();
  memory->keys = dealer->Deal<uint32_t>(point_rows);
  memory->rows = dealer->Deal<int32_t>(point_rows);
  memory->sorted_keys = dealer->Deal<uint32_t>(point_rows);
  memory->sorted_rows = dealer->Deal<int32_t>(point_rows);
  memory->scratch_bytes = std::max<size_t>({sort_bytes, scan_bytes, 1});
  memory->scratch = dealer->Deal<char>(memory->scratch_bytes);
  return cudaSuccess;
}

cudaError_t SortPoints(const RadiusSearchArgs& args, int key_bits, const SortMemory& memory, cudaStream_t stream) {
  size_t scratch_bytes = memory.scratch_bytes;
  return Sort(args, key_bits, memory, &scratch_bytes, stream);
}

cudaError_t ScanCounts(const RadiusSearchArgs& args, int64_t* row_begins, const SortMemory& memory,
                       cudaStream_t stream) {
  size_t scratch_bytes = memory.scratch_bytes;
  return Scan(args, row_begins, memory.scratch, &scratch_bytes, stream);
}

cudaError_t DealIndexMemory(const RadiusSearchArgs& args, Dealer* dealer, IndexMemory* memory) {
  const int bucket_bits = BucketBits(args.PointRows());
  SH_RETURN_IF_CUDA_ERROR(DealSortMemory(args, bucket_bits, dealer, &memory->sort));
  memory->records = dealer->Deal<float4>(args.PointRows());
  memory->bucket_begins = dealer->Deal<int32_t>((size_t{1} << bucket_bits) + 1);
  return cudaSuccess;
}

CellIndex IndexIn(const RadiusSearchArgs& args, const IndexMemory& memory) {
  CellIndex index;
  index.grid = CellGrid::Make(args.radius, 1);
  index.bucket_mask = (1u << BucketBits(args.PointRows())) - 1;
  index.records = memory.records;
  index.bucket_begins = memory.bucket_begins;
  return index;
}

cudaError_t BuildIndex(const RadiusSearchArgs& args, const IndexMemory& memory, cudaStream_t stream) {
  const CellIndex index = IndexIn(args, memory);
  const int64_t point_rows = args.PointRows();
  MakeKeys<<<BlocksFor(point_rows, kThreads), kThreads, 0, stream>>>(args, index.grid, index.bucket_mask, memory.sort);
  SH_RETURN_IF_CUDA_ERROR(cudaGetLastError());
  SH_RETURN_IF_CUDA_ERROR(SortPoints(args, BucketBits(point_rows), memory.sort, stream));
  const int64_t threads = std::max<int64_t>(point_rows, int64_t{index.bucket_mask} + 2);
  PackPoints<<<BlocksFor(threads, kThreads), kThreads, 0, stream>>>(args, index.bucket_mask, memory);
  return cudaGetLastError();
}

}  // namespace stallhound::kernels
