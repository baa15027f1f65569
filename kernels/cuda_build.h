#pragma once

namespace stallhound::kernels {

// Whether this build has the project's CUDA code, that is whether nvcc was there. `if constexpr (kHasCudaCode)` around
// a launcher leaves no undefined symbol behind without it.
inline constexpr bool kHasCudaCode = STALLHOUND_HAS_NVCC;

}  // namespace stallhound::kernels
