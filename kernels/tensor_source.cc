#include "kernels/tensor_source.h"

#include <ATen/Context.h>
#include <ATen/ops/empty.h>

#include "kernels/case_runner.h"

namespace stallhound::kernels {
namespace {

at::Generator MakeGenerator(at::Device device, uint64_t seed) {
  at::Generator generator = at::globalContext().defaultGenerator(device).clone();
  generator.set_current_seed(seed);
  return generator;
}

}  // namespace

TensorSource::TensorSource(Device device, uint64_t seed)
    : options_(at::TensorOptions().device(TorchDevice(device)).dtype(at::kFloat)),
      generator_(MakeGenerator(TorchDevice(device), seed)) {}

at::Tensor TensorSource::Normal(at::IntArrayRef sizes, at::ScalarType type) {
  return at::empty(sizes, options_).normal_(0, 1, generator_).to(type);
}

at::Tensor TensorSource::Uniform(at::IntArrayRef sizes, at::ScalarType type, double low, double high) {
  return at::empty(sizes, options_).uniform_(low, high, generator_).to(type);
}

}  // namespace stallhound::kernels
