#include "bench/testing/changed_case.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>

#include <cmath>
#include <utility>

#include "kernels/registry.h"

namespace stallhound::bench {
namespace {

bool IsChangedCase(const kernels::Case& c) {
  return c.pass == kernels::Pass::kForward && c.dtype == kernels::DType::kFp32 &&
         (c.shape.name == "1200000x512" || c.shape.name == "10000x512");
}

}  // namespace

std::vector<kernels::Pair> PairsWithChangedCase(const std::function<Forward(Forward)>& change) {
  std::vector<kernels::Pair> pairs = kernels::AllPairs();
  for (kernels::Pair& pair : pairs) {
    if (pair.name != "layer_norm") continue;
    Forward& forward = pair.variants[kernels::kOptimized].forward;
    forward = [before = forward, changed = change(forward)](const kernels::Case& c, const kernels::Tensors& inputs) {
      return IsChangedCase(c) ? changed(c, inputs) : before(c, inputs);
    };
  }
  return pairs;
}

Forward WithMoreRows(Forward forward, double ratio) {
  return [forward = std::move(forward), ratio](const kernels::Case& c, const kernels::Tensors& inputs) {
    kernels::Tensors outputs = forward(c, inputs);
    const at::NoGradGuard no_grad;
    kernels::Tensors some = inputs;
    some[0] = inputs[0].narrow(0, 0, std::llround(ratio * static_cast<double>(inputs[0].size(0))));
    (void)forward(c, some);
    return outputs;
  };
}

}  // namespace stallhound::bench
