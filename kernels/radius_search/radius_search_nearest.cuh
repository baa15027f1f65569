#pragma once

// Keeps the nearest of the neighbours that a warp finds.

#include <algorithm>
#include <bit>

#include "kernels/device_vector.cuh"
#include "kernels/radius_search/radius_search_launch.h"

namespace stallhound::kernels {

// Orders by (squared distance, point): squares are not negative, so that their bits ascend with them.
__device__ __forceinline__ uint64_t NeighborKey(float squared_distance, int32_t point) {
  return static_cast<uint64_t>(__float_as_uint(squared_distance)) << 32 | static_cast<uint32_t>(point);
}

__device__ __forceinline__ int LaneIndex() { return threadIdx.x % kWarpLanes; }

// The lowest keys offered so far, in shared memory of one warp. All lanes of the warp call each function.
class NearestKeys {
 public:
  // How much shared memory a warp needs: room for a full warp of keys behind those that are kept, and for a sort.
  static int Capacity(int32_t max_neighbors) {
    return static_cast<int>(std::bit_ceil(static_cast<unsigned>(max_neighbors + kWarpLanes)));
  }

  __device__ NearestKeys(uint64_t* keys, int capacity, int keep) : keys_(keys), capacity_(capacity), keep_(keep) {}

  // Takes the keys of the lanes with `has_key`.
  __device__ __forceinline__ void Offer(bool has_key, uint64_t key) {
    unsigned takers = __ballot_sync(kAllLanes, has_key && key < limit_);
    if (takers == 0) return;
    if (count_ + __popc(takers) > capacity_) {
      Cut();
      takers = __ballot_sync(kAllLanes, has_key && key < limit_);
    }
    if (takers >> LaneIndex() & 1) keys_[count_ + __popc(takers & ((1u << LaneIndex()) - 1))] = key;
    count_ += __popc(takers);
  }

  // Sorts, and writes the row with zeros behind it.
  __device__ __forceinline__ void WriteRow(const LimitedRows& rows, int64_t row) {
    Cut();
    for (int i = LaneIndex(); i < keep_; i += kWarpLanes) {
      const uint64_t key = i < count_ ? keys_[i] : 0;
      rows.indices[row * keep_ + i] = static_cast<int32_t>(static_cast<uint32_t>(key));
      rows.distances[row * keep_ + i] = sqrtf(__uint_as_float(static_cast<unsigned>(key >> 32)));
    }
    if (LaneIndex() == 0) rows.counts[row] = count_;
  }

 private:
  // Sorts the keys (bitonic) and drops all but the lowest.
  __device__ __forceinline__ void Cut() {
    int size = 2;
    while (size < count_) size *= 2;
    for (int i = count_ + LaneIndex(); i < size; i += kWarpLanes) keys_[i] = ~uint64_t{0};
    __syncwarp();
    for (int run = 2; run <= size; run *= 2) {
      for (int stride = run / 2; stride > 0; stride /= 2) {
        for (int i = LaneIndex(); i < size / 2; i += kWarpLanes) SortPair(2 * i - (i & (stride - 1)), stride, run);
        __syncwarp();
      }
    }
    if (count_ >= keep_) {
      count_ = keep_;
      limit_ = keys_[keep_ - 1];
    }
    __syncwarp();
  }

  __device__ __forceinline__ void SortPair(int lower, int stride, int run) {
    const uint64_t a = keys_[lower];
    const uint64_t b = keys_[lower + stride];
    const bool is_ascending = (lower & run) == 0;
    if ((a > b) != is_ascending) return;
    keys_[lower] = b;
    keys_[lower + stride] = a;
  }

  uint64_t* keys_;
  int capacity_;
  int keep_;
  int count_ = 0;
  uint64_t limit_ = ~uint64_t{0};  // what is not below is not among the lowest
};

// A block of a kernel in which each warp keeps the nearest of one row.
struct NearestBlock {
  int warps = 0;
  int capacity = 0;
  size_t shared_bytes = 0;

  static NearestBlock For(int32_t max_neighbors) {
    constexpr int kMostWarps = 8;
    constexpr size_t kSharedBytes = 48 << 10;
    NearestBlock block;
    block.capacity = NearestKeys::Capacity(max_neighbors);
    const size_t warp_bytes = block.capacity * sizeof(uint64_t);
    block.warps = static_cast<int>(std::clamp<size_t>(kSharedBytes / warp_bytes, 1, kMostWarps));
    block.shared_bytes = block.warps * warp_bytes;
    return block;
  }
};

}  // namespace stallhound::kernels
