#pragma once

#include <absl/status/status.h>
#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <string_view>

namespace stallhound::bench {

// "cannot ACTION: what CUDA says". ResourceExhausted when memory is out, else Internal.
inline absl::Status CudaStatus(cudaError_t error, std::string_view action) {
  if (error == cudaSuccess) return absl::OkStatus();
  const std::string message =
      fmt::format("cannot {}: {} ({})", action, cudaGetErrorString(error), cudaGetErrorName(error));
  return error == cudaErrorMemoryAllocation ? absl::ResourceExhaustedError(message) : absl::InternalError(message);
}

}  // namespace stallhound::bench
