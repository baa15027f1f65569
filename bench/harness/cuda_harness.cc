#include "bench/harness/cuda_harness.h"

#include <ATen/cuda/CUDAGraph.h>
#include <ATen/ops/empty.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime_api.h>

#include <vector>

#include "base/nvml/nvml.h"
#include "base/status_macros.h"
#include "bench/harness/cuda_sampler.h"
#include "bench/harness/cuda_status.h"

namespace stallhound::bench {
namespace {

// Twice the cache, so that lines which its policy would keep are overwritten too.
constexpr int64_t kFlushFactor = 2;
// Of the free memory; the rest is for the allocator's rounding and the copy's buffers.
constexpr double kAvailableShare = 0.6;

absl::Status Capture(kernels::CaseRunner& runner, at::cuda::CUDAGraph& graph) {
  const auto pool = at::cuda::graph_pool_handle();
  SH_RETURN_IF_ERROR(kernels::GuardTorch("begin a graph", [&] { graph.capture_begin(pool); }));
  const absl::Status run = runner.Run();
  // Always, else the stream would stay in capture.
  const absl::Status end = kernels::GuardTorch("capture a graph", [&] { graph.capture_end(); });
  if (run.ok() && end.ok()) return absl::OkStatus();
  (void)cudaGetLastError();  // the capture's error is not the next call's
  // Where CUDA refuses the end of a capture, LibTorch leaves the allocator in it.
  if (!end.ok()) {
    (void)kernels::GuardTorch("leave a graph's memory",
                              [&] { c10::cuda::CUDACachingAllocator::endAllocateToPool(0, pool); });
  }
  return run.ok() ? end : run;
}

class CudaHarness : public Harness {
 public:
  CudaHarness() : stream_guard_(c10::cuda::getStreamFromPool()) {}

  absl::Status Initialise() {
    int l2_bytes = 0;
    SH_RETURN_IF_ERROR(CudaStatus(cudaGetDeviceProperties(&properties_, 0), "describe device 0"));
    SH_RETURN_IF_ERROR(
        CudaStatus(cudaDeviceGetAttribute(&l2_bytes, cudaDevAttrL2CacheSize, 0), "read the L2 cache's size"));
    environment_.stream = stream_guard_.current_stream();
    environment_.sm_count = properties_.multiProcessorCount;
    environment_.nvml = &nvml_;
    if (nvml_.is_usable() && nvml_.System().device_count == 1U) environment_.nvml_index = 0;
    return kernels::GuardTorch("make the buffer that flushes the L2 cache", [&] {
      environment_.flush =
          at::empty({kFlushFactor * l2_bytes}, at::TensorOptions().device(at::kCUDA, 0).dtype(at::kByte));
    });
  }

  kernels::Device device() const override { return kernels::Device::kCuda; }

  DeviceContext Context() const override {
    DeviceContext context = {.name = properties_.name};
    if (const NvmlSystem system = nvml_.System(); system.driver_version[0] != '\0') {
      context.driver = system.driver_version;
    }
    return context;
  }

  absl::StatusOr<int64_t> AvailableBytes() const override {
    SH_ASSIGN_OR_RETURN(const int64_t free_bytes, kernels::AvailableBytes(device()));
    return static_cast<int64_t>(kAvailableShare * static_cast<double>(free_bytes));
  }

  absl::Status Synchronize() override {
    return CudaStatus(cudaStreamSynchronize(environment_.stream), "wait for the device");
  }

  absl::StatusOr<CaseSampler> MakeSampler(Launch launch, std::optional<int64_t> copy_bytes) override {
    CaseSampler result;
    std::optional<CopyFloor> copy;
    if (copy_bytes) {
      absl::StatusOr<CopyFloor> made = CopyFloor::Create(*copy_bytes);
      if (made.ok()) {
        copy = *std::move(made);
      } else {
        result.copy_problem = std::string(made.status().message());
      }
    }
    SH_ASSIGN_OR_RETURN(std::unique_ptr<CudaSampler> sampler,
                        CudaSampler::Create(environment_, std::move(launch), std::move(copy)));
    if (sampler->copy()) result.copy_method = sampler->copy()->method_name();
    result.sampler = std::move(sampler);
    return result;
  }

  absl::StatusOr<Launch> CaptureGraphs(InputSets& sets) override {
    auto graphs = std::make_shared<std::vector<std::unique_ptr<at::cuda::CUDAGraph>>>();
    for (int64_t i = 0; i < sets.count(); ++i) {
      graphs->push_back(std::make_unique<at::cuda::CUDAGraph>());
      SH_RETURN_IF_ERROR(Capture(sets.at(i), *graphs->back()));
    }
    return Launch([graphs](int64_t index) {
      return kernels::GuardTorch("replay a graph",
                                 [&] { (*graphs)[static_cast<size_t>(index) % graphs->size()]->replay(); });
    });
  }

 private:
  c10::cuda::CUDAStreamGuard stream_guard_;
  cudaDeviceProp properties_{};
  Nvml nvml_;
  CudaEnvironment environment_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Harness>> MakeCudaHarness() {
  if (!kernels::HasCuda()) {
    return absl::FailedPreconditionError(
        "cannot measure on cuda: LibTorch finds no device; look at nvidia-smi and CUDA_VISIBLE_DEVICES");
  }
  std::unique_ptr<CudaHarness> harness;
  SH_RETURN_IF_ERROR(
      kernels::GuardTorch("take a stream of device 0", [&] { harness = std::make_unique<CudaHarness>(); }));
  SH_RETURN_IF_ERROR(harness->Initialise());
  return harness;
}

}  // namespace stallhound::bench
