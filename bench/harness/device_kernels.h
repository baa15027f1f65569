#pragma once

// Small kernels of the measuring protocol. Launchers enqueue on `stream`, never wait, never print.

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

namespace stallhound::bench {

// Written by one SM: its cycle counter and the device's ns clock, read together.
struct ClockStamp {
  uint64_t cycles;
  uint64_t global_ns;
  uint64_t sequence;  // of the launch that wrote it
};

// Occupies the device for `duration_ns`, so that the host can enqueue what follows without gaps.
[[nodiscard]] cudaError_t LaunchDelay(int64_t duration_ns, cudaStream_t stream);

// Each SM that gets one of the `sm_count` blocks writes stamps[its number]; `stamps` (device-visible) has `sm_count`
// elements. An SM that gets none leaves its stamp with the older sequence.
[[nodiscard]] cudaError_t LaunchClockStamps(ClockStamp* stamps, int sm_count, uint64_t sequence, cudaStream_t stream);

// Copies `size_bytes` (a multiple of 16, pointers aligned to 16) on the device.
[[nodiscard]] cudaError_t LaunchCopy(void* target, const void* source, size_t size_bytes, cudaStream_t stream);

}  // namespace stallhound::bench
