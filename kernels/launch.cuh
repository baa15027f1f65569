#pragma once

// What launchers of several layers share, on the host's side.

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "kernels/dtype.h"

#define SH_RETURN_IF_CUDA_ERROR(...)                                                          \
  do {                                                                                        \
    if (const cudaError_t sh_error = (__VA_ARGS__); sh_error != cudaSuccess) return sh_error; \
  } while (false)

namespace stallhound::kernels {

// run.template operator()<T>() of the element type in which `dtype` is stored.
template <typename Run>
auto WithElementType(DType dtype, const Run& run) {
  return dtype == DType::kBf16 ? run.template operator()<__nv_bfloat16>() : run.template operator()<float>();
}

inline bool IsAligned(const void* address, size_t bytes) { return reinterpret_cast<uintptr_t>(address) % bytes == 0; }

constexpr int64_t DivideUp(int64_t value, int64_t divisor) { return (value + divisor - 1) / divisor; }

inline unsigned BlocksFor(int64_t items, int64_t items_per_block) {
  return static_cast<unsigned>(DivideUp(items, items_per_block));
}

// How many blocks of kKernel fill the current device once. The answer is kept for each device; thread-safe.
template <auto kKernel, int kThreads>
cudaError_t ResidentBlocks(int* block_count) {
  constexpr int kDevices = 64;
  static std::atomic<int> known[kDevices];
  int device = 0;
  SH_RETURN_IF_CUDA_ERROR(cudaGetDevice(&device));
  if (device < kDevices && (*block_count = known[device].load(std::memory_order_relaxed)) != 0) return cudaSuccess;
  int multiprocessor_count = 0;
  int per_multiprocessor = 0;
  SH_RETURN_IF_CUDA_ERROR(cudaDeviceGetAttribute(&multiprocessor_count, cudaDevAttrMultiProcessorCount, device));
  SH_RETURN_IF_CUDA_ERROR(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_multiprocessor, kKernel, kThreads, 0));
  *block_count = multiprocessor_count * std::max(per_multiprocessor, 1);
  if (device < kDevices) known[device].store(*block_count, std::memory_order_relaxed);
  return cudaSuccess;
}

}  // namespace stallhound::kernels
