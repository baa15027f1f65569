// The bench with pairs that behave in one way each.
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>

#include <vector>

#include "bench/bench_main.h"
#include "bench/testing/square_pair.h"

namespace {

using stallhound::bench::SquarePair;

at::Tensor Right(const at::Tensor& x) { return 2 * x.square(); }
at::Tensor Wrong(const at::Tensor& x) { return 2 * x.square() + 0.001; }
at::Tensor Throws(const at::Tensor& x) {
  TORCH_CHECK(false, "no kernel for ", x.sizes());
  return x;
}
at::Tensor Waits(const at::Tensor& x) {
  (void)x.sum().item<float>();
  return Right(x);
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<stallhound::kernels::Pair> pairs = {SquarePair("waits", Waits), SquarePair("right", Right),
                                                        SquarePair("wrong", Wrong), SquarePair("throws", Throws)};
  return stallhound::bench::BenchMain(argc, argv, pairs);
}
