#include "bench/harness/cuda_sampler.h"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <cmath>

#include "base/clock.h"
#include "base/status_macros.h"
#include "bench/harness/cuda_status.h"
#include "bench/harness/marks.h"
#include "kernels/case_runner.h"

namespace stallhound::bench {
namespace {

constexpr int64_t kVectorBytes = 16;
constexpr int kCopyTrials = 5;
// What the harness itself enqueues between delay and iteration, generously.
constexpr int64_t kHarnessEnqueueNs = 30'000;
// Longer launches are not hidden: the queue of a stream has an end too.
constexpr int64_t kMaxDelayNs = 20'000'000;
constexpr int kCalibrationCount = 5;
// By this much the trial delay exceeds twice the host's time.
constexpr int64_t kTrialMarginNs = 2'000'000;
// Asking NVML takes longer than many a case.
constexpr int64_t kThrottleIntervalNs = 250'000'000;
// The device's ns clock moves in steps of up to 1 us: below this its part in the clock's error would pass 10%.
constexpr double kMinStampedNs = 10'000;

}  // namespace

absl::StatusOr<CopyFloor> CopyFloor::Create(int64_t size_bytes) {
  CopyFloor copy;
  const int64_t half_bytes = (size_bytes / 2 + kVectorBytes - 1) / kVectorBytes * kVectorBytes;
  SH_RETURN_IF_ERROR(kernels::GuardTorch("make the buffers of the copy", [&] {
    const auto options = at::TensorOptions().device(at::kCUDA, 0).dtype(at::kByte);
    copy.source_ = at::empty({half_bytes}, options);
    copy.target_ = at::empty({half_bytes}, options);
  }));
  return copy;
}

cudaError_t CopyFloor::Enqueue(Method method, cudaStream_t stream) const {
  const auto size_bytes = static_cast<size_t>(source_.numel());
  return method == Method::kMemcpy
             ? cudaMemcpyAsync(target_.data_ptr(), source_.data_ptr(), size_bytes, cudaMemcpyDeviceToDevice, stream)
             : LaunchCopy(target_.data_ptr(), source_.data_ptr(), size_bytes, stream);
}

absl::StatusOr<std::unique_ptr<CudaSampler>> CudaSampler::Create(const CudaEnvironment& environment, Launch launch,
                                                                 std::optional<CopyFloor> copy) {
  std::unique_ptr<CudaSampler> sampler(new CudaSampler(environment, std::move(launch), std::move(copy)));
  SH_RETURN_IF_ERROR(sampler->Allocate());
  SH_RETURN_IF_ERROR(sampler->ChooseDelay());
  if (sampler->copy_) SH_RETURN_IF_ERROR(sampler->ChooseCopy());
  return sampler;
}

CudaSampler::~CudaSampler() {
  for (cudaEvent_t event : events_) {
    if (event != nullptr) cudaEventDestroy(event);
  }
  if (stamps_before_ != nullptr) cudaFreeHost(stamps_before_);
}

absl::Status CudaSampler::Allocate() {
  for (cudaEvent_t& event : events_) SH_RETURN_IF_ERROR(CudaStatus(cudaEventCreate(&event), "make an event"));
  const auto sm_count = static_cast<size_t>(environment_.sm_count);
  void* stamps = nullptr;
  SH_RETURN_IF_ERROR(CudaStatus(cudaHostAlloc(&stamps, 2 * sm_count * sizeof(ClockStamp), cudaHostAllocMapped),
                                "make pinned memory for clock stamps"));
  stamps_before_ = static_cast<ClockStamp*>(stamps);
  stamps_after_ = stamps_before_ + sm_count;
  std::fill(stamps_before_, stamps_before_ + 2 * sm_count, ClockStamp{});
  return absl::OkStatus();
}

absl::Status CudaSampler::ChooseDelay() {
  std::vector<int64_t> host_times;
  for (int i = 0; i < kCalibrationCount; ++i) {
    SH_RETURN_IF_ERROR(EnqueueIteration(&host_times.emplace_back()));
    SH_RETURN_IF_ERROR(Wait());
  }
  const auto idle_host_ns = static_cast<int64_t>(Median(std::move(host_times)));
  const int64_t wanted_ns = idle_host_ns * 5 / 4 + kHarnessEnqueueNs;
  if (wanted_ns > kMaxDelayNs) return absl::OkStatus();
  const int64_t trial_ns = 2 * idle_host_ns + kTrialMarginNs;
  int64_t host_ns = 0;
  SH_RETURN_IF_ERROR(CudaStatus(LaunchDelay(trial_ns, environment_.stream), "launch the delay kernel"));
  SH_RETURN_IF_ERROR(EnqueueIteration(&host_ns));
  SH_RETURN_IF_ERROR(Wait());
  // An iteration that waits for the device would wait for the delay too: it gets none.
  if (host_ns < trial_ns - kTrialMarginNs / 2) delay_ns_ = wanted_ns;
  return absl::OkStatus();
}

absl::Status CudaSampler::Wait() {
  return CudaStatus(cudaStreamSynchronize(environment_.stream), "wait for the sample");
}

absl::Status CudaSampler::ChooseCopy() {
  std::array<double, 2> medians{};
  for (const CopyFloor::Method method : {CopyFloor::Method::kMemcpy, CopyFloor::Method::kKernel}) {
    copy_->Choose(method);
    std::vector<int64_t> times;
    for (int trial = 0; trial < kCopyTrials; ++trial) {
      SH_RETURN_IF_ERROR(EnqueueCopy());
      SH_RETURN_IF_ERROR(CudaStatus(cudaEventSynchronize(events_[kCopyEnd]), "wait for the copy"));
      SH_ASSIGN_OR_RETURN(const int64_t time_ns, Elapsed(kCopyStart, kCopyEnd));
      times.push_back(time_ns);
    }
    medians[static_cast<size_t>(method)] = Median(std::move(times));
  }
  copy_->Choose(medians[0] <= medians[1] ? CopyFloor::Method::kMemcpy : CopyFloor::Method::kKernel);
  return absl::OkStatus();
}

absl::Status CudaSampler::Flush() {
  return CudaStatus(cudaMemsetAsync(environment_.flush.data_ptr(), 0, static_cast<size_t>(environment_.flush.numel()),
                                    environment_.stream),
                    "flush the L2 cache");
}

absl::Status CudaSampler::Record(Event event) {
  return CudaStatus(cudaEventRecord(events_[event], environment_.stream), "record an event");
}

absl::Status CudaSampler::Stamp(ClockStamp* stamps) {
  return CudaStatus(LaunchClockStamps(stamps, environment_.sm_count, sequence_, environment_.stream),
                    "read the SM clock");
}

absl::Status CudaSampler::EnqueueIteration(int64_t* host_ns) {
  SH_RETURN_IF_ERROR(Record(kStart));
  {
    const Range range(kIterationRange);
    const int64_t start_ns = SystemClock().MonotonicNs();
    SH_RETURN_IF_ERROR(launch_(index_++));
    *host_ns = SystemClock().MonotonicNs() - start_ns;
  }
  return Record(kEnd);
}

absl::Status CudaSampler::EnqueueCopy() {
  SH_RETURN_IF_ERROR(Flush());
  SH_RETURN_IF_ERROR(Record(kCopyStart));
  SH_RETURN_IF_ERROR(CudaStatus(copy_->Enqueue(environment_.stream), "copy on the device"));
  return Record(kCopyEnd);
}

absl::StatusOr<int64_t> CudaSampler::Elapsed(Event start, Event end) const {
  float elapsed_ms = 0;
  SH_RETURN_IF_ERROR(
      CudaStatus(cudaEventElapsedTime(&elapsed_ms, events_[start], events_[end]), "read the time between two events"));
  return std::llround(static_cast<double>(elapsed_ms) * 1e6);
}

std::optional<int64_t> CudaSampler::SmClock() const {
  double cycles = 0;
  double elapsed_ns = 0;
  int count = 0;
  for (int sm = 0; sm < environment_.sm_count; ++sm) {
    const ClockStamp& before = stamps_before_[sm];
    const ClockStamp& after = stamps_after_[sm];
    if (before.sequence != sequence_ || after.sequence != sequence_ || after.global_ns <= before.global_ns) continue;
    cycles += static_cast<double>(after.cycles - before.cycles);
    elapsed_ns += static_cast<double>(after.global_ns - before.global_ns);
    ++count;
  }
  if (count == 0 || elapsed_ns / count < kMinStampedNs) return std::nullopt;
  return std::llround(cycles / elapsed_ns * 1e9);
}

void CudaSampler::LookAtThrottling() {
  const int64_t now_ns = SystemClock().MonotonicNs();
  if (!environment_.nvml_index || now_ns < next_throttle_look_ns_) return;
  next_throttle_look_ns_ = now_ns + kThrottleIntervalNs;
  if (const auto reasons = environment_.nvml->ThrottleReasons(*environment_.nvml_index)) {
    throttle_reasons_ = throttle_reasons_.value_or(0) | *reasons;
  }
}

absl::StatusOr<Sample> CudaSampler::Take() {
  ++sequence_;
  if (delay_ns_ > 0) {
    SH_RETURN_IF_ERROR(CudaStatus(LaunchDelay(delay_ns_, environment_.stream), "launch the delay kernel"));
  }
  SH_RETURN_IF_ERROR(Stamp(stamps_before_));
  SH_RETURN_IF_ERROR(Flush());
  Sample sample;
  SH_RETURN_IF_ERROR(EnqueueIteration(&sample.host_ns));
  SH_RETURN_IF_ERROR(Stamp(stamps_after_));
  if (copy_) SH_RETURN_IF_ERROR(EnqueueCopy());
  LookAtThrottling();
  SH_RETURN_IF_ERROR(Wait());
  SH_ASSIGN_OR_RETURN(sample.time_ns, Elapsed(kStart, kEnd));
  if (copy_) {
    SH_ASSIGN_OR_RETURN(const int64_t copy_ns, Elapsed(kCopyStart, kCopyEnd));
    sample.copy_ns = copy_ns;
  }
  sample.sm_clock_hz = SmClock();
  return sample;
}

}  // namespace stallhound::bench
