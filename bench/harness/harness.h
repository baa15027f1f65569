#pragma once

// What the bench needs of a device to measure on it.

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "bench/harness/input_sets.h"
#include "bench/harness/sampling.h"

namespace stallhound::bench {

// Starts the iteration of this index; on CUDA it enqueues on the current stream. An iteration range lies around it.
using Launch = std::function<absl::Status(int64_t index)>;

struct CaseSampler {
  std::unique_ptr<Sampler> sampler;
  // The copy that Sample::copy_ns is of: "cudaMemcpyAsync" or "copy kernel"; unknown where there is none, and why.
  std::optional<std::string> copy_method;
  std::string copy_problem;
};

struct DeviceContext {
  std::string name;                   // "NVIDIA H200"
  std::optional<std::string> driver;  // "580.159.04"
};

// Not thread-safe.
class Harness {
 public:
  virtual ~Harness() = default;

  virtual kernels::Device device() const = 0;
  virtual DeviceContext Context() const = 0;
  // What a case may use, inputs and check together, once LibTorch has handed back what it keeps for later. Errors: what
  // CUDA says, as after an illegal access.
  virtual absl::StatusOr<int64_t> AvailableBytes() const { return kernels::AvailableBytes(device()); }
  // Waits until the device has done all that was launched.
  virtual absl::Status Synchronize() { return absl::OkStatus(); }
  // `copy_bytes`: read and written together by the copy that is measured along; none without.
  virtual absl::StatusOr<CaseSampler> MakeSampler(Launch launch, std::optional<int64_t> copy_bytes) = 0;
  // Launches that replay an iteration of each set from a CUDA graph. `sets` must outlive them. Errors: Unimplemented on
  // the CPU; what CUDA says where an iteration cannot be captured, because it waits for the device, say.
  virtual absl::StatusOr<Launch> CaptureGraphs(InputSets& sets) = 0;
};

// The host's steady clock around each iteration.
std::unique_ptr<Harness> MakeCpuHarness();

}  // namespace stallhound::bench
