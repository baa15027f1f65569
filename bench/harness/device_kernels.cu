#include "bench/harness/device_kernels.h"

namespace stallhound::bench {
namespace {

constexpr int kCopyThreads = 256;
constexpr int kCopyUnroll = 4;  // loads in flight for each thread

__device__ uint64_t GlobalNs() {
  uint64_t ns;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
  return ns;
}

__device__ uint32_t SmNumber() {
  uint32_t number;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(number));
  return number;
}

__global__ void Delay(int64_t duration_ns) {
  const uint64_t start_ns = GlobalNs();
  while (static_cast<int64_t>(GlobalNs() - start_ns) < duration_ns) __nanosleep(200);
}

__global__ void ClockStamps(ClockStamp* stamps, uint32_t sm_count, uint64_t sequence) {
  const uint32_t sm = SmNumber();
  if (sm >= sm_count) return;
  stamps[sm] = {static_cast<uint64_t>(clock64()), GlobalNs(), sequence};
}

__global__ void __launch_bounds__(kCopyThreads) Copy(uint4* target, const uint4* source, size_t count) {
  const size_t first = static_cast<size_t>(blockIdx.x) * kCopyThreads * kCopyUnroll + threadIdx.x;
  if (first + (kCopyUnroll - 1) * kCopyThreads < count) {
    uint4 values[kCopyUnroll];
#pragma unroll
    for (int i = 0; i < kCopyUnroll; ++i) values[i] = source[first + i * kCopyThreads];
#pragma unroll
    for (int i = 0; i < kCopyUnroll; ++i) target[first + i * kCopyThreads] = values[i];
  } else {
    for (size_t i = first; i < count; i += kCopyThreads) target[i] = source[i];
  }
}

}  // namespace

cudaError_t LaunchDelay(int64_t duration_ns, cudaStream_t stream) {
  Delay<<<1, 1, 0, stream>>>(duration_ns);
  return cudaGetLastError();
}

cudaError_t LaunchClockStamps(ClockStamp* stamps, int sm_count, uint64_t sequence, cudaStream_t stream) {
  ClockStamps<<<sm_count, 1, 0, stream>>>(stamps, static_cast<uint32_t>(sm_count), sequence);
  return cudaGetLastError();
}

cudaError_t LaunchCopy(void* target, const void* source, size_t size_bytes, cudaStream_t stream) {
  const size_t count = size_bytes / sizeof(uint4);
  if (count == 0) return cudaSuccess;
  constexpr size_t kPerBlock = kCopyThreads * kCopyUnroll;
  Copy<<<static_cast<unsigned>((count + kPerBlock - 1) / kPerBlock), kCopyThreads, 0, stream>>>(
      static_cast<uint4*>(target), static_cast<const uint4*>(source), count);
  return cudaGetLastError();
}

}  // namespace stallhound::bench
