#include "base/clock.h"
#include "base/status_macros.h"
#include "bench/harness/harness.h"
#include "bench/harness/marks.h"

namespace stallhound::bench {
namespace {

class CpuSampler : public Sampler {
 public:
  explicit CpuSampler(Launch launch) : launch_(std::move(launch)) {}

  absl::StatusOr<Sample> Take() override {
    int64_t start_ns = 0;
    int64_t end_ns = 0;
    {
      const Range range(kIterationRange);
      start_ns = SystemClock().MonotonicNs();
      SH_RETURN_IF_ERROR(launch_(index_++));
      end_ns = SystemClock().MonotonicNs();
    }
    return Sample{.time_ns = end_ns - start_ns, .host_ns = end_ns - start_ns};
  }

 private:
  Launch launch_;
  int64_t index_ = 0;
};

class CpuHarness : public Harness {
 public:
  kernels::Device device() const override { return kernels::Device::kCpu; }
  DeviceContext Context() const override { return {.name = "cpu"}; }
  absl::StatusOr<CaseSampler> MakeSampler(Launch launch, std::optional<int64_t>) override {
    return CaseSampler{.sampler = std::make_unique<CpuSampler>(std::move(launch)),
                       .copy_problem = "the copy is measured on CUDA only"};
  }
  absl::StatusOr<Launch> CaptureGraphs(InputSets&) override {
    return absl::UnimplementedError("graphs are captured on CUDA only");
  }
};

}  // namespace

std::unique_ptr<Harness> MakeCpuHarness() { return std::make_unique<CpuHarness>(); }

}  // namespace stallhound::bench
