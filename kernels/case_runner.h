#pragma once

// Runs one case of a pair on a device: what a test and a bench share.

#include <ATen/core/Tensor.h>
#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <functional>
#include <string>
#include <string_view>

#include "kernels/pair.h"

namespace stallhound::kernels {

// How inputs lie in memory. kMisaligned: contiguous, but the data begins one element behind an aligned address.
// kStrided: with gaps of one element between elements of the last dimension. The values are the same in each.
enum class Layout { kPlain, kMisaligned, kStrided };

// Whether LibTorch finds a CUDA device and the project's CUDA code was compiled.
bool HasCuda();

// What one case may use: on the CPU half of the machine's memory, since the rest is for those beside us; on CUDA what
// is free, once LibTorch has handed back what it keeps for later. Errors: those of GuardTorch.
absl::StatusOr<int64_t> AvailableBytes(Device device);

at::ScalarType StorageType(DType dtype);
// How the tensor is stored: kFp32 or kBf16. Throws c10::Error for other types.
DType DTypeOf(const at::Tensor& tensor);
at::Device TorchDevice(Device device);

// Runs `work` and turns what LibTorch throws into a status: "cannot ACTION: cause". ResourceExhausted when the device
// is out of memory, else Internal.
absl::Status GuardTorch(std::string_view action, const std::function<void()>& work);

// A case with its inputs, ready to be run any number of times. Not thread-safe. A bench that rotates inputs makes
// several with different seeds.
class CaseRunner {
 public:
  struct Options {
    Device device = Device::kCpu;
    uint64_t seed = 1;
    Layout layout = Layout::kPlain;
  };

  // Makes the inputs and, for a backward case, runs the forward pass once and makes gradients of its outputs. Errors:
  // InvalidArgument if the variant does not run on the device, FailedPrecondition without the device, and those of
  // GuardTorch. `pair` and `variant` must outlive the runner.
  static absl::StatusOr<CaseRunner> Create(const Pair& pair, const Variant& variant, const Case& benchmark_case,
                                           const Options& options);

  // One iteration. On CUDA it enqueues on the current stream and waits for nothing unless the variant does.
  absl::Status Run();

  // After Run: the outputs of a forward case; of a backward case the gradients, one for each differentiable input.
  const Tensors& results() const { return results_; }
  // The names of the results: "y", "dx".
  const std::vector<std::string>& result_names() const { return result_names_; }
  const Tensors& inputs() const { return inputs_; }
  Device device() const { return device_; }
  // Of a backward case; one for each differentiable output.
  const Tensors& output_gradients() const { return output_gradients_; }

 private:
  CaseRunner(const Pair& pair, const Variant& variant, const Case& benchmark_case)
      : pair_(&pair), variant_(&variant), case_(benchmark_case) {}
  void Prepare(const Options& options);

  const Pair* pair_;
  const Variant* variant_;
  Case case_;
  Device device_ = Device::kCpu;
  Tensors inputs_;
  Tensors outputs_;  // of a backward case's forward pass
  Tensors output_gradients_;
  Tensors results_;
  std::vector<std::string> result_names_;
};

}  // namespace stallhound::kernels
