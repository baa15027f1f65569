#pragma once

// What memory-bound CUDA kernels of several layers share: packs of elements that move in one instruction, conversions,
// sums over a group of lanes, and grids that fill the device once.

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "kernels/dtype.h"

namespace stallhound::kernels {

constexpr int kWarpLanes = 32;
constexpr unsigned kAllLanes = 0xffffffffu;

template <typename T, int kCount>
struct alignas(sizeof(T) * kCount) Pack {
  T values[kCount];
};

template <int kBytes>
struct RawVector;
template <>
struct RawVector<4> {
  using Type = unsigned;
};
template <>
struct RawVector<8> {
  using Type = uint2;
};
template <>
struct RawVector<16> {
  using Type = uint4;
};

// Loads through the read-only path. `address` is aligned to the pack. Layer norm forward over 1.2M fp32 rows of 128 to
// 512, over a copy: 1.01, with evict-first loads (__ldcs) 1.05 to 1.06 (H200, 2026-11-30).
template <typename P>
__device__ __forceinline__ P Load(const P* address) {
  using Raw = typename RawVector<sizeof(P)>::Type;
  const Raw raw = __ldg(reinterpret_cast<const Raw*>(address));
  return *reinterpret_cast<const P*>(&raw);
}

// The same for what is read once and should leave the cache first.
template <typename P>
__device__ __forceinline__ P LoadOnce(const P* address) {
  using Raw = typename RawVector<sizeof(P)>::Type;
  const Raw raw = __ldcs(reinterpret_cast<const Raw*>(address));
  return *reinterpret_cast<const P*>(&raw);
}

template <typename P>
__device__ __forceinline__ void Store(P* address, const P& pack) {
  using Raw = typename RawVector<sizeof(P)>::Type;
  *reinterpret_cast<Raw*>(address) = *reinterpret_cast<const Raw*>(&pack);
}

__device__ __forceinline__ float ToFloat(float value) { return value; }
__device__ __forceinline__ float ToFloat(__nv_bfloat16 value) { return __bfloat162float(value); }

template <typename T>
__device__ __forceinline__ T FromFloat(float value);
template <>
__device__ __forceinline__ float FromFloat<float>(float value) {
  return value;
}
template <>
__device__ __forceinline__ __nv_bfloat16 FromFloat<__nv_bfloat16>(float value) {
  return __float2bfloat16_rn(value);
}

// Two conversions are one instruction on bf16.
template <int kCount>
__device__ __forceinline__ Pack<float, kCount> PackFloats(const float (&values)[kCount], float) {
  Pack<float, kCount> pack;
#pragma unroll
  for (int i = 0; i < kCount; ++i) pack.values[i] = values[i];
  return pack;
}
template <int kCount>
__device__ __forceinline__ Pack<__nv_bfloat16, kCount> PackFloats(const float (&values)[kCount], __nv_bfloat16) {
  static_assert(kCount % 2 == 0);
  Pack<__nv_bfloat16, kCount> pack;
#pragma unroll
  for (int i = 0; i < kCount; i += 2) {
    reinterpret_cast<__nv_bfloat162*>(pack.values)[i / 2] = __floats2bfloat162_rn(values[i], values[i + 1]);
  }
  return pack;
}

// The sum over each aligned group of kLanes lanes, in every lane. All lanes of the warp take part.
template <int kLanes>
__device__ __forceinline__ float GroupSum(float value) {
#pragma unroll
  for (int offset = kLanes / 2; offset > 0; offset /= 2) value += __shfl_xor_sync(kAllLanes, value, offset);
  return value;
}

// The sum of the lanes with equal lane % kLanes, in every one of them.
template <int kLanes>
__device__ __forceinline__ float SumAcrossGroups(float value) {
#pragma unroll
  for (int offset = kLanes; offset < kWarpLanes; offset *= 2) value += __shfl_xor_sync(kAllLanes, value, offset);
  return value;
}

// run.template operator()<T>() of the element type in which `dtype` is stored.
template <typename Run>
auto WithElementType(DType dtype, const Run& run) {
  return dtype == DType::kBf16 ? run.template operator()<__nv_bfloat16>() : run.template operator()<float>();
}

inline bool IsAligned(const void* address, size_t bytes) { return reinterpret_cast<uintptr_t>(address) % bytes == 0; }

// How many blocks of kKernel fill the current device once. The answer is kept for each device; thread-safe.
template <auto kKernel, int kThreads>
cudaError_t ResidentBlocks(int* block_count) {
  constexpr int kDevices = 64;
  static std::atomic<int> known[kDevices];
  int device = 0;
  if (const cudaError_t error = cudaGetDevice(&device); error != cudaSuccess) return error;
  if (device < kDevices && (*block_count = known[device].load(std::memory_order_relaxed)) != 0) return cudaSuccess;
  int multiprocessor_count = 0;
  int per_multiprocessor = 0;
  if (const cudaError_t error = cudaDeviceGetAttribute(&multiprocessor_count, cudaDevAttrMultiProcessorCount, device);
      error != cudaSuccess) {
    return error;
  }
  if (const cudaError_t error =
          cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_multiprocessor, kKernel, kThreads, 0);
      error != cudaSuccess) {
    return error;
  }
  *block_count = multiprocessor_count * std::max(per_multiprocessor, 1);
  if (device < kDevices) known[device].store(*block_count, std::memory_order_relaxed);
  return cudaSuccess;
}

}  // namespace stallhound::kernels
