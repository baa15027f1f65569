#pragma once

// The kernels behind layer_norm::Optimized, on raw pointers; free of LibTorch. Contract: layer_norm.h. All tensors
// are contiguous and of one dtype; pointers need the alignment of their element only, 16 bytes are faster.

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "kernels/dtype.h"

namespace stallhound::kernels {

struct LayerNormShape {
  int64_t row_count = 0;
  int64_t width = 0;  // at most 2^31 - 1
  DType dtype = DType::kFp32;
};

struct LayerNormForwardArgs {
  LayerNormShape shape;
  float eps = 0;
  const void* x = nullptr;
  const void* gamma = nullptr;
  const void* beta = nullptr;
  void* y = nullptr;
};

struct LayerNormBackwardArgs {
  LayerNormShape shape;
  float eps = 0;
  const void* dy = nullptr;
  const void* x = nullptr;
  const void* gamma = nullptr;
  void* dx = nullptr;
  void* dgamma = nullptr;
  void* dbeta = nullptr;
  void* workspace = nullptr;  // device memory, aligned to 16 bytes
  size_t workspace_bytes = 0;
};

// Enqueue on `stream` and return; they never wait and allocate nothing. cudaErrorInvalidValue: workspace too small.
[[nodiscard]] cudaError_t LaunchLayerNormForward(const LayerNormForwardArgs& args, cudaStream_t stream);
[[nodiscard]] cudaError_t LaunchLayerNormBackward(const LayerNormBackwardArgs& args, cudaStream_t stream);

// What the backward pass needs on the current device, mainly for partial sums of dgamma and dbeta. Of `args` everything
// but the workspace must be set.
[[nodiscard]] cudaError_t LayerNormBackwardWorkspace(const LayerNormBackwardArgs& args, size_t* bytes);

// The same on host memory, in at::parallel_for; no workspace.
void LayerNormForwardCpu(const LayerNormForwardArgs& args);
void LayerNormBackwardCpu(const LayerNormBackwardArgs& args);

}  // namespace stallhound::kernels
