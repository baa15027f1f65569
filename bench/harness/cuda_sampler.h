#pragma once

#include <ATen/core/Tensor.h>
#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <cuda_runtime_api.h>

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/nvml/nvml.h"
#include "bench/harness/device_kernels.h"
#include "bench/harness/harness.h"
#include "bench/harness/sampling.h"

namespace stallhound::bench {

// A copy on the device that reads and writes `size_bytes` together: the time that a memory-bound kernel of as many
// bytes cannot beat by much.
class CopyFloor {
 public:
  // Rounded up to whole vectors of 16 bytes each way. ResourceExhausted if there is no room for source and target.
  static absl::StatusOr<CopyFloor> Create(int64_t size_bytes);

  enum class Method { kMemcpy, kKernel };
  cudaError_t Enqueue(cudaStream_t stream) const { return Enqueue(method_, stream); }
  cudaError_t Enqueue(Method method, cudaStream_t stream) const;
  void Choose(Method method) { method_ = method; }
  std::string method_name() const { return method_ == Method::kMemcpy ? "cudaMemcpyAsync" : "copy kernel"; }

 private:
  at::Tensor source_;
  at::Tensor target_;
  Method method_ = Method::kMemcpy;
};

// What the samplers of one device share.
struct CudaEnvironment {
  cudaStream_t stream = nullptr;
  int sm_count = 0;
  at::Tensor flush;  // more than the L2 cache
  const Nvml* nvml = nullptr;
  std::optional<unsigned> nvml_index;  // unknown where NVML sees several devices: it numbers them its own way
};

// One sample: delay, clock stamps, L2 flush, event, iteration, event, clock stamps; then, with a copy, L2 flush, event,
// copy, event; then it waits. The delay is a little longer than the host needs to launch an iteration; one that waits
// for the device, or needs more than 20 ms, gets none.
class CudaSampler : public Sampler {
 public:
  // `environment` must outlive the sampler. With a copy, both methods are tried and the faster one is kept.
  static absl::StatusOr<std::unique_ptr<CudaSampler>> Create(const CudaEnvironment& environment, Launch launch,
                                                             std::optional<CopyFloor> copy);
  ~CudaSampler() override;
  CudaSampler(const CudaSampler&) = delete;
  CudaSampler& operator=(const CudaSampler&) = delete;

  absl::StatusOr<Sample> Take() override;
  std::optional<uint64_t> ThrottleReasons() const override { return throttle_reasons_; }
  const std::optional<CopyFloor>& copy() const { return copy_; }

 private:
  enum Event { kStart, kEnd, kCopyStart, kCopyEnd, kEventCount };

  CudaSampler(const CudaEnvironment& environment, Launch launch, std::optional<CopyFloor> copy)
      : environment_(environment), launch_(std::move(launch)), copy_(std::move(copy)) {}
  absl::Status Allocate();
  absl::Status ChooseDelay();
  absl::Status Wait();
  absl::Status ChooseCopy();
  absl::Status Flush();
  absl::Status EnqueueIteration(int64_t* host_ns);
  absl::Status EnqueueCopy();
  absl::Status Record(Event event);
  absl::Status Stamp(ClockStamp* stamps);
  absl::StatusOr<int64_t> Elapsed(Event start, Event end) const;
  std::optional<int64_t> SmClock() const;
  void LookAtThrottling();

  const CudaEnvironment& environment_;
  Launch launch_;
  std::optional<CopyFloor> copy_;
  std::array<cudaEvent_t, kEventCount> events_{};
  ClockStamp* stamps_before_ = nullptr;  // pinned; as many as SMs, then as many for after
  ClockStamp* stamps_after_ = nullptr;
  uint64_t sequence_ = 0;
  int64_t index_ = 0;
  int64_t delay_ns_ = 0;
  int64_t next_throttle_look_ns_ = 0;
  std::optional<uint64_t> throttle_reasons_;
};

}  // namespace stallhound::bench
