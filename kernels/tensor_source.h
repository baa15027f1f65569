#pragma once

#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>

#include "kernels/pair.h"

namespace stallhound::kernels {

// Random inputs made on their device, equal for equal seeds on the same device (CPU and CUDA draw different numbers).
// Not thread-safe.
class TensorSource {
 public:
  TensorSource(Device device, uint64_t seed);

  // Contiguous; standard normal, drawn in fp32 and rounded to `type`.
  at::Tensor Normal(at::IntArrayRef sizes, at::ScalarType type);
  // Likewise, uniform in [low, high).
  at::Tensor Uniform(at::IntArrayRef sizes, at::ScalarType type, double low, double high);

 private:
  at::TensorOptions options_;
  at::Generator generator_;
};

}  // namespace stallhound::kernels
