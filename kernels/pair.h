#pragma once

// Describes a layer that exists at least twice, as a slow reference and as an optimized version with the same
// signature. The tests of a pair and the bench are driven by this description alone; kernels/case_runner.h runs a
// case of it, kernels/case_check.h checks one against the exact result. Free of LibTorch, so that many files may
// include it.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/dtype.h"

namespace at {
class Tensor;
}

namespace stallhound::kernels {

using Tensors = std::vector<at::Tensor>;

enum class Device { kCpu, kCuda };

// kForward: the variant's function, recorded for autograd. kBackward: the gradients of all differentiable inputs from
// given gradients of the outputs; the forward pass before it does not belong to the case.
enum class Pass { kForward, kBackward };

// "forward", "backward".
std::string_view Name(Pass pass);
// "cpu", "cuda".
std::string_view Name(Device device);

struct Shape {
  std::string name;             // part of the benchmark id, so stable for ever: "200000x128"
  std::vector<int64_t> dims;    // what they mean is the layer's business: {rows, width}
  std::vector<double> scalars;  // likewise: {radius}
};

struct Case {
  Shape shape;
  DType dtype = DType::kFp32;
  Pass pass = Pass::kForward;
};

// What one run of a case does on the device; nullopt where it is not known (it depends on the version of LibTorch,
// say).
struct ExpectedCounts {
  std::optional<int64_t> kernel_count;
  std::optional<int64_t> sync_count;  // host calls that may wait for the device
  std::optional<int64_t> host_to_device_count;
  std::optional<int64_t> device_to_host_count;
  std::optional<int64_t> memset_count;
};

struct Variant {
  std::string name;  // part of the benchmark id: "reference", "optimized", "libtorch"
  std::vector<Device> devices = {Device::kCpu, Device::kCuda};
  // Computes the outputs from the inputs in the order of `Pair::inputs`, on their device and its current stream, so
  // that autograd can take gradients. Throws c10::Error on inputs outside the layer's contract.
  std::function<Tensors(const Case&, const Tensors& inputs)> forward;
  // On CUDA, in the steady state.
  std::function<ExpectedCounts(const Case&)> expected_counts;
  // Set for somebody else's implementation, to which the limit of kernels/case_check.h does not apply: its largest
  // error as a share of the largest exact value, on the benchmark's shapes.
  std::optional<double> peer_error_ratio;
};

struct InputSpec {
  std::string name;  // the gradient is called "d" + name
  bool is_differentiable = false;
};

enum class Comparison {
  kRounding,  // floating point: the largest error counts
  kExact,     // indices, counts: all elements equal
};

struct OutputSpec {
  std::string name;
  Comparison comparison = Comparison::kRounding;
};

struct Pair {
  std::string name;  // of the folder under kernels/ or models/, and part of the benchmark id
  // Shapes of the benchmark on either device. The test runs those of its device too.
  std::vector<Shape> cuda_shapes;
  std::vector<Shape> cpu_shapes;
  // Small shapes at which code breaks: 0, 1, odd, wider than what is tuned. The test runs them on both devices, each
  // with plain, misaligned and strided inputs.
  std::vector<Shape> awkward_shapes;
  std::vector<DType> dtypes;
  std::vector<Pass> passes;

  // Bytes of all tensors that the contract reads and writes, each once; work space is not counted.
  std::function<int64_t(const Case&)> bytes;
  // Floating point operations of the formula (a fused multiply-add is two).
  std::function<int64_t(const Case&)> flops;

  std::vector<InputSpec> inputs;
  std::vector<OutputSpec> outputs;
  // One tensor for each entry of `inputs`, contiguous, on `device`, without gradients; equal for equal arguments.
  std::function<Tensors(const Case&, Device device, uint64_t seed)> make_inputs;

  // [0] is the reference, [1] the optimized version; then other algorithms, each with its own name.
  std::vector<Variant> variants;

  // The exact outputs from inputs that are widened to fp64, differentiable. Unset: the reference on fp64 inputs.
  std::function<Tensors(const Case&, const Tensors& inputs)> oracle;
  // Brings outputs into a form that can be compared, where the contract leaves an order open (sorts each row, say).
  // Unset: outputs are compared as they are.
  std::function<Tensors(const Case&, const Tensors& inputs, const Tensors& outputs)> canonical_outputs;
};

constexpr size_t kReference = 0;
constexpr size_t kOptimized = 1;

// The benchmark's cases on `device`: shapes x dtypes x passes, in this order.
std::vector<Case> BenchmarkCases(const Pair& pair, Device device);
// The same over `awkward_shapes`.
std::vector<Case> AwkwardCases(const Pair& pair);

// layer/variant/dtype/shape/pass. Equal on both devices: the device belongs to the environment of a run.
std::string CaseId(const Pair& pair, const Variant& variant, const Case& benchmark_case);

// Whether `variant` runs on `device`.
bool RunsOn(const Variant& variant, Device device);

}  // namespace stallhound::kernels
