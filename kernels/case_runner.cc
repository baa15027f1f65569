#include "kernels/case_runner.h"

#include <ATen/Context.h>
#include <ATen/ops/empty.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <fmt/format.h>
#include <torch/csrc/autograd/autograd.h>
#include <unistd.h>

#include "base/status_macros.h"
#include "kernels/cuda_build.h"
#include "kernels/tensor_source.h"

namespace stallhound::kernels {
namespace {

// Gradients are drawn apart from the inputs, whose seed the layer uses as it likes.
constexpr uint64_t kGradientSeedOffset = 0x9e3779b97f4a7c15;

void SetMathMode(DType dtype) {
  at::globalContext().setAllowTF32CuBLAS(dtype == DType::kTf32);
  at::globalContext().setAllowTF32CuDNN(dtype == DType::kTf32);
}

at::Tensor WithLayout(const at::Tensor& plain, Layout layout) {
  switch (layout) {
    case Layout::kPlain:
      return plain;
    case Layout::kMisaligned:
      return at::empty({plain.numel() + 1}, plain.options())
          .narrow(0, 1, plain.numel())
          .view(plain.sizes())
          .copy_(plain);
    case Layout::kStrided: {
      std::vector<int64_t> sizes = plain.sizes().vec();
      sizes.push_back(2);
      return at::empty(sizes, plain.options()).select(-1, 0).copy_(plain);
    }
  }
  return plain;
}

Tensors Differentiable(const Pair& pair, const Tensors& inputs) {
  Tensors chosen;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (pair.inputs[i].is_differentiable) chosen.push_back(inputs[i]);
  }
  return chosen;
}

Tensors Differentiable(const Tensors& outputs) {
  Tensors chosen;
  for (const at::Tensor& output : outputs) {
    if (output.requires_grad()) chosen.push_back(output);
  }
  return chosen;
}

absl::Status CheckDevice(const Pair& pair, const Variant& variant, Device device) {
  if (!RunsOn(variant, device)) {
    return absl::InvalidArgumentError(
        fmt::format("cannot run {}/{}: it does not run on {}", pair.name, variant.name, Name(device)));
  }
  if (device == Device::kCuda && !HasCuda()) {
    return absl::FailedPreconditionError(
        fmt::format("cannot run {}/{} on cuda: {}", pair.name, variant.name,
                    kHasCudaCode ? "LibTorch finds no CUDA device; look at nvidia-smi and CUDA_VISIBLE_DEVICES"
                                 : "built without nvcc; install the CUDA toolkit and build again"));
  }
  return absl::OkStatus();
}

}  // namespace

bool HasCuda() { return kHasCudaCode && at::globalContext().hasCUDA(); }

absl::StatusOr<int64_t> AvailableBytes(Device device) {
  if (device == Device::kCpu) return sysconf(_SC_PHYS_PAGES) / 2 * sysconf(_SC_PAGESIZE);
  int64_t free_bytes = 0;
  SH_RETURN_IF_ERROR(GuardTorch("ask for the device's free memory", [&] {
    c10::DeviceAllocator* allocator = at::getDeviceAllocator(at::kCUDA);
    allocator->emptyCache();
    free_bytes = static_cast<int64_t>(allocator->getMemoryInfo(0).first);
  }));
  return free_bytes;
}

at::ScalarType StorageType(DType dtype) { return dtype == DType::kBf16 ? at::kBFloat16 : at::kFloat; }

DType DTypeOf(const at::Tensor& tensor) {
  for (const DType dtype : {DType::kFp32, DType::kBf16}) {
    if (StorageType(dtype) == tensor.scalar_type()) return dtype;
  }
  TORCH_CHECK(false, "tensor of type ", tensor.scalar_type(), ": only float and bfloat16");
}

at::Device TorchDevice(Device device) {
  return device == Device::kCpu ? at::Device(at::kCPU) : at::Device(at::kCUDA, 0);
}

absl::Status GuardTorch(std::string_view action, const std::function<void()>& work) {
  try {
    work();
    return absl::OkStatus();
  } catch (const c10::OutOfMemoryError& error) {
    return absl::ResourceExhaustedError(fmt::format("cannot {}: {}", action, error.what_without_backtrace()));
  } catch (const c10::Error& error) {
    return absl::InternalError(fmt::format("cannot {}: {}", action, error.what_without_backtrace()));
  } catch (const std::exception& error) {
    return absl::InternalError(fmt::format("cannot {}: {}", action, error.what()));
  }
}

absl::StatusOr<CaseRunner> CaseRunner::Create(const Pair& pair, const Variant& variant, const Case& benchmark_case,
                                              const Options& options) {
  SH_RETURN_IF_ERROR(CheckDevice(pair, variant, options.device));
  CaseRunner runner(pair, variant, benchmark_case);
  SH_RETURN_IF_ERROR(
      GuardTorch(fmt::format("prepare {} on {}", CaseId(pair, variant, benchmark_case), Name(options.device)),
                 [&] { runner.Prepare(options); }));
  return runner;
}

void CaseRunner::Prepare(const Options& options) {
  SetMathMode(case_.dtype);
  device_ = options.device;
  inputs_ = pair_->make_inputs(case_, options.device, options.seed);
  TORCH_CHECK(inputs_.size() == pair_->inputs.size(), "make_inputs gives ", inputs_.size(), " tensors instead of ",
              pair_->inputs.size());
  for (size_t i = 0; i < inputs_.size(); ++i) {
    inputs_[i] = WithLayout(inputs_[i], options.layout);
    inputs_[i].set_requires_grad(pair_->inputs[i].is_differentiable);
    if (case_.pass == Pass::kBackward && pair_->inputs[i].is_differentiable) {
      result_names_.push_back("d" + pair_->inputs[i].name);
    }
  }
  if (case_.pass == Pass::kForward) {
    for (const OutputSpec& output : pair_->outputs) result_names_.push_back(output.name);
    return;
  }
  outputs_ = Differentiable(variant_->forward(case_, inputs_));
  TensorSource source(options.device, options.seed + kGradientSeedOffset);
  for (const at::Tensor& output : outputs_) {
    output_gradients_.push_back(WithLayout(source.Normal(output.sizes(), output.scalar_type()), options.layout));
  }
}

absl::Status CaseRunner::Run() {
  // Freed first, so that every iteration finds the allocator in the same state.
  results_.clear();
  try {
    SetMathMode(case_.dtype);
    results_ = case_.pass == Pass::kForward
                   ? variant_->forward(case_, inputs_)
                   : torch::autograd::grad(outputs_, Differentiable(*pair_, inputs_), output_gradients_,
                                           /*retain_graph=*/true, /*create_graph=*/false, /*allow_unused=*/false);
    return absl::OkStatus();
  } catch (...) {
    return GuardTorch("run " + CaseId(*pair_, *variant_, case_), [] { throw; });
  }
}

}  // namespace stallhound::kernels
