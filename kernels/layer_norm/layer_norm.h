#pragma once

// Layer normalisation over the last dimension:
//
//   y = gamma * (x - mean) / sqrt(variance + eps) + beta
//
// with the biased variance of each row (Ba, Kiros and Hinton 2016). Backward, with rho = 1 / sqrt(variance + eps),
// xh = rho * (x - mean) and g = gamma * dy:
//
//   dx = rho * (g - mean(g) - xh * mean(g * xh)),   dgamma = sum over rows of dy * xh,   dbeta = sum over rows of dy
//
// x: [..., width], any strides (what is not contiguous is copied first). gamma, beta: [width], of x's dtype and device.
// Zero rows and zero width are allowed; dgamma and dbeta of zero rows are zero. eps must be positive.
// y and dx: new contiguous tensors of x's shape and dtype. No input is written; nothing is aliased.
// Accumulation: fp32 for fp32 and bf16, each result rounded once at its end.
// Determinism: equal inputs on one device model give equal bits, gradients included. No atomics.
// Stream: the current one of x's device. Syncs, host-device copies: none.
// Errors: c10::Error for shapes, dtypes and devices that do not fit together.
// Cost: forward reads x and writes y, 2 * rows * width elements; backward reads x and dy and writes dx, 3 * rows *
// width. Nothing else is saved for the backward pass: mean and rho of a row are computed again from x, which is in
// registers anyway, so that 16 bytes a row are neither written nor read. Thread-safe.

#include <ATen/core/Tensor.h>

namespace stallhound::kernels::layer_norm {

// The formula in LibTorch's operators, also for fp64. Each operator passes over the whole tensor.
at::Tensor Reference(const at::Tensor& x, const at::Tensor& gamma, const at::Tensor& beta, double eps);

// LibTorch's own fused layer norm.
at::Tensor LibTorch(const at::Tensor& x, const at::Tensor& gamma, const at::Tensor& beta, double eps);

// fp32 and bf16. On CUDA one kernel forward and two backward; widths 16, 32, 48, 80, 128, 256 and 512 are tuned, other
// multiples of 16 bytes up to 2048 bytes take the same kernel with masks, all else a slower one. Gradients of gradients
// are refused.
at::Tensor Optimized(const at::Tensor& x, const at::Tensor& gamma, const at::Tensor& beta, double eps);

}  // namespace stallhound::kernels::layer_norm
