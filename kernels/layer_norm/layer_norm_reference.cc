#include <ATen/TensorOperators.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/rsqrt.h>

#include "kernels/layer_norm/layer_norm.h"

namespace stallhound::kernels::layer_norm {

at::Tensor Reference(const at::Tensor& x, const at::Tensor& gamma, const at::Tensor& beta, double eps) {
  const at::ScalarType accumulation = x.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  const at::Tensor wide = x.to(accumulation);
  const at::Tensor mean = wide.mean(-1, /*keepdim=*/true);
  const at::Tensor variance = (wide - mean).square().mean(-1, /*keepdim=*/true);
  const at::Tensor normalized = (wide - mean) * at::rsqrt(variance + eps);
  return (gamma.to(accumulation) * normalized + beta.to(accumulation)).to(x.scalar_type());
}

at::Tensor LibTorch(const at::Tensor& x, const at::Tensor& gamma, const at::Tensor& beta, double eps) {
  return at::layer_norm(x, {x.size(-1)}, gamma, beta, eps);
}

}  // namespace stallhound::kernels::layer_norm
