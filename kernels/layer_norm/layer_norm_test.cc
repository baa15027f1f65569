// Edges of layer norm that the tests of its pair do not reach.

#include "kernels/layer_norm/layer_norm.h"

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <limits>

#include "kernels/tensor_source.h"
#include "kernels/testing/cuda_device.h"
#include "kernels/testing/pair_tests.h"

SH_PAIR_TESTS(layer_norm);

namespace stallhound::kernels::layer_norm {
namespace {

using ::testing::HasSubstr;

constexpr double kEps = 1e-5;

struct Gradients {
  at::Tensor y;
  Tensors inputs;  // dx, dgamma, dbeta
};

Gradients ForwardBackward(at::Tensor x, at::Tensor gamma, at::Tensor beta, const at::Tensor& dy) {
  for (at::Tensor* input : {&x, &gamma, &beta}) *input = input->detach().requires_grad_();
  const at::Tensor y = Optimized(x, gamma, beta, kEps);
  return {y.detach(), torch::autograd::grad({y}, {x, gamma, beta}, {dy})};
}

std::string WhatIsThrown(const std::function<void()>& work) {
  const absl::Status status = GuardTorch("run", work);
  return status.ok() ? "nothing" : std::string(status.message());
}

TEST(LayerNormReferenceTest, IsTheFormula) {
  const at::Tensor x = at::tensor({1.0, 2.0, 3.0, 6.0}, at::kDouble);
  const at::Tensor gamma = at::tensor({1.0, 1.0, 2.0, 1.0}, at::kDouble);
  const at::Tensor beta = at::tensor({0.0, 0.0, 0.0, 10.0}, at::kDouble);
  // Mean 3, variance (4 + 1 + 0 + 9) / 4 = 3.5.
  const double rho = 1 / std::sqrt(3.5 + 0.5);
  const at::Tensor expected = at::tensor({-2 * rho, -rho, 0.0, 3 * rho + 10}, at::kDouble);
  EXPECT_TRUE(Reference(x, gamma, beta, 0.5).allclose(expected, 1e-14, 1e-14));
}

TEST(LayerNormTest, KeepsLeadingDimensions) {
  TensorSource source(Device::kCpu, 1);
  const at::Tensor x = source.Normal({2, 3, 4, 5}, at::kFloat);
  const at::Tensor gamma = source.Normal({5}, at::kFloat);
  const at::Tensor beta = source.Normal({5}, at::kFloat);
  const at::Tensor y = Optimized(x, gamma, beta, kEps);
  EXPECT_EQ(y.sizes(), x.sizes());
  EXPECT_TRUE(y.view({24, 5}).equal(Optimized(x.view({24, 5}), gamma, beta, kEps)));
  EXPECT_TRUE(y[1][2][3].equal(Optimized(x[1][2][3], gamma, beta, kEps)));
}

TEST(LayerNormTest, TakesConstantAndLargeRows) {
  const at::Tensor ones = at::ones({16});
  const at::Tensor zeros = at::zeros({16});
  EXPECT_TRUE(Optimized(at::full({3, 16}, 7.0), ones, zeros, kEps).equal(at::zeros({3, 16})));
  TensorSource source(Device::kCpu, 1);
  const at::Tensor noise = source.Normal({64, 16}, at::kFloat);
  const at::Tensor shifted = (noise + 1e4).contiguous();
  const at::Tensor exact = Reference(shifted.to(at::kDouble), ones.to(at::kDouble), zeros.to(at::kDouble), kEps);
  // By differences of squares nothing would be left of the variance.
  EXPECT_LT((Optimized(shifted, ones, zeros, kEps) - exact).abs().max().item<double>(), 1e-2);
}

TEST(LayerNormTest, LetsNotANumberThroughInItsRowOnly) {
  for (const at::ScalarType type : {at::kFloat, at::kBFloat16}) {
    at::Tensor x = at::ones({3, 32}, type);
    x[1][5] = std::numeric_limits<float>::quiet_NaN();
    const at::Tensor y = Optimized(x, at::ones({32}, type), at::zeros({32}, type), kEps);
    EXPECT_TRUE(y[1].isnan().all().item<bool>());
    EXPECT_FALSE(y[0].isnan().any().item<bool>() || y[2].isnan().any().item<bool>());
  }
}

TEST(LayerNormTest, IsTheSameOnAnyNumberOfThreads) {
  TensorSource source(Device::kCpu, 3);
  const at::Tensor x = source.Normal({30'001, 80}, at::kFloat);
  const at::Tensor dy = source.Normal({30'001, 80}, at::kFloat);
  const at::Tensor gamma = source.Normal({80}, at::kFloat);
  const at::Tensor beta = source.Normal({80}, at::kFloat);
  const int thread_count = at::get_num_threads();
  at::set_num_threads(1);
  const Gradients alone = ForwardBackward(x, gamma, beta, dy);
  at::set_num_threads(3);
  const Gradients together = ForwardBackward(x, gamma, beta, dy);
  at::set_num_threads(thread_count);
  EXPECT_TRUE(alone.y.equal(together.y));
  for (size_t i = 0; i < alone.inputs.size(); ++i) EXPECT_TRUE(alone.inputs[i].equal(together.inputs[i])) << i;
}

TEST(LayerNormTest, NamesWhatDoesNotFit) {
  const at::Tensor x = at::ones({2, 8});
  const at::Tensor good = at::ones({8});
  const auto thrown = [&](const at::Tensor& gamma, const at::Tensor& beta, double eps) {
    return WhatIsThrown([&] { Optimized(x, gamma, beta, eps); });
  };
  EXPECT_EQ(thrown(good, good, kEps), "nothing");
  EXPECT_THAT(thrown(at::ones({7}), good, kEps), HasSubstr("layer norm of x [2, 8] with a parameter of sizes [7]"));
  EXPECT_THAT(thrown(good, at::ones({8}, at::kBFloat16), kEps), HasSubstr("must be alike"));
  EXPECT_THAT(thrown(good, good, 0), HasSubstr("eps 0: must be positive"));
  const at::Tensor wide = at::ones({8}, at::kDouble);
  EXPECT_THAT(WhatIsThrown([&] { Optimized(wide, wide, wide, kEps); }), HasSubstr("only float and bfloat16"));
  EXPECT_THAT(WhatIsThrown([&] { Optimized(at::ones({}), good, good, kEps); }), HasSubstr("of a scalar"));
}

TEST(LayerNormTest, RefusesGradientsOfGradients) {
  at::Tensor x = at::ones({2, 8}).requires_grad_();
  const at::Tensor y = Optimized(x, at::ones({8}), at::ones({8}), kEps);
  EXPECT_THAT(
      WhatIsThrown([&] { torch::autograd::grad({y.sum()}, {x}, {}, /*retain_graph=*/true, /*create_graph=*/true); }),
      HasSubstr("no gradients of gradients"));
}

TEST(LayerNormCudaTest, GivesEqualBitsEachTime) {
  SH_NEED_CUDA();
  for (const at::ScalarType type : {at::kFloat, at::kBFloat16}) {
    for (const int64_t width : {16, 80, 100, 101, 512}) {
      TensorSource source(Device::kCuda, 5);
      const at::Tensor x = source.Normal({50'000, width}, type);
      const at::Tensor dy = source.Normal({50'000, width}, type);
      const at::Tensor gamma = source.Normal({width}, type);
      const at::Tensor beta = source.Normal({width}, type);
      const Gradients first = ForwardBackward(x, gamma, beta, dy);
      for (int i = 0; i < 5; ++i) {
        const Gradients again = ForwardBackward(x, gamma, beta, dy);
        EXPECT_TRUE(first.y.equal(again.y)) << width;
        for (size_t k = 0; k < 3; ++k) EXPECT_TRUE(first.inputs[k].equal(again.inputs[k])) << width << " " << k;
      }
    }
  }
}

// More elements than a 32-bit index counts: the last rows must be those of a small tensor with the same values.
TEST(LayerNormCudaTest, ReachesElementsBeyond32Bits) {
  SH_NEED_CUDA();
  for (const int64_t width : {512, 513}) {
    const int64_t rows = (int64_t{1} << 31) / width + 10;
    TensorSource source(Device::kCuda, 5);
    const at::Tensor gamma = source.Normal({width}, at::kBFloat16);
    const at::Tensor beta = source.Normal({width}, at::kBFloat16);
    const at::Tensor tail = source.Normal({8, width}, at::kBFloat16);
    const at::Tensor x = at::zeros({rows, width}, tail.options());
    const at::Tensor dy = at::zeros({rows, width}, tail.options());
    x.narrow(0, rows - 8, 8).copy_(tail);
    dy.narrow(0, rows - 8, 8).copy_(tail);
    const Gradients large = ForwardBackward(x, gamma, beta, dy);
    const Gradients small = ForwardBackward(tail, gamma, beta, tail);
    EXPECT_TRUE(large.y.narrow(0, rows - 8, 8).equal(small.y)) << width;
    EXPECT_TRUE(large.inputs[0].narrow(0, rows - 8, 8).equal(small.inputs[0])) << width;
    // All other rows add zero; the order of the sums differs.
    for (const size_t i : {1, 2}) {
      EXPECT_TRUE(large.inputs[i].to(at::kFloat).allclose(small.inputs[i].to(at::kFloat), 1e-2, 1e-2)) << width;
    }
  }
}

}  // namespace
}  // namespace stallhound::kernels::layer_norm
