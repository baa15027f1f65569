#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <torch/csrc/autograd/custom_function.h>

#include <limits>

#include "kernels/case_runner.h"
#include "kernels/cuda_build.h"
#include "kernels/layer_norm/layer_norm.h"
#include "kernels/layer_norm/layer_norm_launch.h"

namespace stallhound::kernels::layer_norm {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::tensor_list;

void CheckInputs(const at::Tensor& x, const at::Tensor& gamma, const at::Tensor& beta, double eps) {
  TORCH_CHECK(x.dim() >= 1, "layer norm of a scalar: x must have a last dimension");
  TORCH_CHECK(x.scalar_type() == at::kFloat || x.scalar_type() == at::kBFloat16, "layer norm of x of type ",
              x.scalar_type(), ": only float and bfloat16");
  TORCH_CHECK(x.is_cpu() || x.is_cuda(), "layer norm on ", x.device(), ": only CPU and CUDA");
  TORCH_CHECK(!x.is_cuda() || kHasCudaCode, "layer norm on ", x.device(), ": built without nvcc");
  TORCH_CHECK(eps > 0, "layer norm with eps ", eps, ": must be positive");
  TORCH_CHECK(x.size(-1) <= std::numeric_limits<int>::max(), "layer norm over ", x.size(-1), " elements: too wide");
  for (const at::Tensor& parameter : {gamma, beta}) {
    TORCH_CHECK(parameter.sizes() == at::IntArrayRef({x.size(-1)}), "layer norm of x ", x.sizes(),
                " with a parameter of sizes ", parameter.sizes(), ": must be [", x.size(-1), "]");
    TORCH_CHECK(parameter.scalar_type() == x.scalar_type() && parameter.device() == x.device(), "layer norm of x ",
                x.scalar_type(), " on ", x.device(), " with a parameter ", parameter.scalar_type(), " on ",
                parameter.device(), ": must be alike");
  }
}

LayerNormShape ShapeOf(const at::Tensor& x) {
  LayerNormShape shape;
  shape.width = x.size(-1);
  shape.row_count = c10::multiply_integers(x.sizes().slice(0, x.dim() - 1));
  shape.dtype = DTypeOf(x);
  return shape;
}

void ForwardCuda(const LayerNormForwardArgs& args, at::Device device) {
  if constexpr (kHasCudaCode) {
    const c10::cuda::CUDAGuard guard(device);
    CheckLaunch(LaunchLayerNormForward(args, c10::cuda::getCurrentCUDAStream()), "layer norm forward");
  }
}

void BackwardCuda(LayerNormBackwardArgs args, at::Device device) {
  if constexpr (kHasCudaCode) {
    const c10::cuda::CUDAGuard guard(device);
    CheckLaunch(LayerNormBackwardWorkspace(args, &args.workspace_bytes), "layer norm backward");
    const at::Tensor workspace =
        at::empty({static_cast<int64_t>(args.workspace_bytes)}, at::TensorOptions().device(device).dtype(at::kByte));
    args.workspace = workspace.data_ptr();
    CheckLaunch(LaunchLayerNormBackward(args, c10::cuda::getCurrentCUDAStream()), "layer norm backward");
  }
}

class LayerNormFunction : public torch::autograd::Function<LayerNormFunction> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& strided_x, const at::Tensor& strided_gamma,
                            const at::Tensor& beta, double eps) {
    CheckInputs(strided_x, strided_gamma, beta, eps);
    const at::Tensor x = strided_x.contiguous();
    const at::Tensor gamma = strided_gamma.contiguous();
    const at::Tensor contiguous_beta = beta.contiguous();
    at::Tensor y = at::empty_like(x);
    const LayerNormForwardArgs args = {.shape = ShapeOf(x),
                                       .eps = static_cast<float>(eps),
                                       .x = x.data_ptr(),
                                       .gamma = gamma.data_ptr(),
                                       .beta = contiguous_beta.data_ptr(),
                                       .y = y.data_ptr()};
    x.is_cuda() ? ForwardCuda(args, x.device()) : LayerNormForwardCpu(args);
    context->save_for_backward({x, gamma});
    context->saved_data["eps"] = eps;
    return y;
  }

  static tensor_list backward(AutogradContext* context, const tensor_list& gradients) {
    TORCH_CHECK(!at::GradMode::is_enabled(), "layer norm has no gradients of gradients");
    const tensor_list saved = context->get_saved_variables();
    const at::Tensor& x = saved[0];
    const at::Tensor& gamma = saved[1];
    const at::Tensor dy = gradients[0].contiguous();
    at::Tensor dx = at::empty_like(x);
    at::Tensor dgamma = at::empty_like(gamma);
    at::Tensor dbeta = at::empty_like(gamma);
    const LayerNormBackwardArgs args = {.shape = ShapeOf(x),
                                        .eps = static_cast<float>(context->saved_data["eps"].toDouble()),
                                        .dy = dy.data_ptr(),
                                        .x = x.data_ptr(),
                                        .gamma = gamma.data_ptr(),
                                        .dx = dx.data_ptr(),
                                        .dgamma = dgamma.data_ptr(),
                                        .dbeta = dbeta.data_ptr()};
    x.is_cuda() ? BackwardCuda(args, x.device()) : LayerNormBackwardCpu(args);
    return {dx, dgamma, dbeta, at::Tensor()};
  }
};

}  // namespace

at::Tensor Optimized(const at::Tensor& x, const at::Tensor& gamma, const at::Tensor& beta, double eps) {
  return LayerNormFunction::apply(x, gamma, beta, eps);
}

}  // namespace stallhound::kernels::layer_norm
