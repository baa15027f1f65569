#pragma once

// What the CUDA searches share: points sorted by a key, and the list of cells made of them.

#include <cuda_runtime.h>

#include "kernels/launch.cuh"
#include "kernels/radius_search/radius_search_cell.h"
#include "kernels/radius_search/radius_search_launch.h"

namespace stallhound::kernels {

constexpr int kThreads = 256;

// Deals out a workspace in pieces. Without memory it only adds up their sizes.
class Dealer {
 public:
  explicit Dealer(void* memory) : memory_(static_cast<char*>(memory)) {}

  template <typename T>
  T* Deal(size_t count) {
    constexpr size_t kAlignment = 256;
    T* piece = memory_ == nullptr ? nullptr : reinterpret_cast<T*>(memory_ + bytes_);
    bytes_ += (count * sizeof(T) + kAlignment - 1) / kAlignment * kAlignment;
    return piece;
  }
  size_t bytes() const { return bytes_; }

 private:
  char* memory_;
  size_t bytes_ = 0;
};

// Point rows (numbers over all batches) and their keys, before and after a stable sort by key.
struct SortMemory {
  uint32_t* keys = nullptr;
  int32_t* rows = nullptr;
  uint32_t* sorted_keys = nullptr;
  int32_t* sorted_rows = nullptr;
  void* scratch = nullptr;  // of the sort and of the scan
  size_t scratch_bytes = 0;
};

// `key_bits`: how many low bits of the keys count.
cudaError_t DealSortMemory(const RadiusSearchArgs& args, int key_bits, Dealer* dealer, SortMemory* memory);
cudaError_t SortPoints(const RadiusSearchArgs& args, int key_bits, const SortMemory& memory, cudaStream_t stream);
// Turns the counts of all rows, and a zero behind them, into row_begins.
cudaError_t ScanCounts(const RadiusSearchArgs& args, int64_t* row_begins, const SortMemory& memory,
                       cudaStream_t stream);

// The points ordered by the bucket of their cell, within a bucket by row.
struct CellIndex {
  CellGrid grid;
  uint32_t bucket_mask = 0;
  const float4* records = nullptr;         // x, y, z; the bits of w are the point's row
  const int32_t* bucket_begins = nullptr;  // [bucket_mask + 2]
};

struct IndexMemory {
  SortMemory sort;
  float4* records = nullptr;
  int32_t* bucket_begins = nullptr;
};

cudaError_t DealIndexMemory(const RadiusSearchArgs& args, Dealer* dealer, IndexMemory* memory);
CellIndex IndexIn(const RadiusSearchArgs& args, const IndexMemory& memory);
cudaError_t BuildIndex(const RadiusSearchArgs& args, const IndexMemory& memory, cudaStream_t stream);

}  // namespace stallhound::kernels
