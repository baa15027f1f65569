#include "bench/testing/square_pair.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>

#include "kernels/tensor_source.h"

namespace stallhound::bench {
namespace {

using kernels::Case;
using kernels::Tensors;

kernels::Variant MakeVariant(const char* name, std::function<at::Tensor(const at::Tensor&)> function) {
  kernels::Variant variant;
  variant.name = name;
  variant.forward = [function = std::move(function)](const Case&, const Tensors& inputs) -> Tensors {
    return {function(inputs[0])};
  };
  variant.expected_counts = [](const Case&) { return kernels::ExpectedCounts{}; };
  return variant;
}

int64_t Elements(const Case& c) { return c.shape.dims[0] * c.shape.dims[1]; }

}  // namespace

kernels::Pair SquarePair(const char* name, std::function<at::Tensor(const at::Tensor& x)> optimized) {
  kernels::Pair pair;
  pair.name = name;
  pair.cuda_shapes = {{"4096x1024", {4096, 1024}, {}}};
  pair.cpu_shapes = {{"100x3", {100, 3}, {}}};
  pair.awkward_shapes = {{"0x3", {0, 3}, {}}, {"7x3", {7, 3}, {}}, {"9x4", {9, 4}, {}}};
  pair.dtypes = {kernels::DType::kFp32};
  pair.passes = {kernels::Pass::kForward, kernels::Pass::kBackward};
  pair.bytes = [](const Case& c) { return Elements(c) * 4 * (c.pass == kernels::Pass::kForward ? 2 : 3); };
  pair.flops = [](const Case& c) { return 2 * Elements(c); };
  pair.inputs = {{"x", true}};
  pair.outputs = {{"y"}};
  pair.make_inputs = [](const Case& c, kernels::Device device, uint64_t seed) -> Tensors {
    return {kernels::TensorSource(device, seed).Normal(c.shape.dims, at::kFloat)};
  };
  pair.variants = {MakeVariant("reference", [](const at::Tensor& x) { return x * x + x * x; }),
                   MakeVariant("optimized", std::move(optimized))};
  return pair;
}

}  // namespace stallhound::bench
