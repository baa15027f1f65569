#pragma once

#include <c10/util/Exception.h>
#include <cuda_runtime_api.h>

namespace stallhound::kernels {

// Whether this build has the project's CUDA code, that is whether nvcc was there. `if constexpr (kHasCudaCode)` around
// a launcher leaves no undefined symbol behind without it.
inline constexpr bool kHasCudaCode = STALLHOUND_HAS_NVCC;

// Throws c10::Error unless a launcher gave cudaSuccess: "cannot launch WHAT: cause".
inline void CheckLaunch(cudaError_t error, const char* what) {
  if constexpr (kHasCudaCode) {
    TORCH_CHECK(error == cudaSuccess, "cannot launch ", what, ": ", cudaGetErrorString(error));
  }
}

}  // namespace stallhound::kernels
