#pragma once

// Describes the machine and the process to the spool as KeyValueRecords: GPUs and driver (through NVML), versions of
// the CUDA and framework libraries that are mapped, the host, and the allow-listed environment variables. No
// identifiers of the machine or its user. For the recorder's own thread: a call takes milliseconds and opens files;
// never call it in a callback. A key may be written again: who reads the spool takes the last.
//
// Keys: driver.version, driver.cuda_version ("13.0"), gpu.count, confidential_computing, gpu.N.{name, memory_bytes,
// compute_capability, sm_count, sm_clock_mhz, memory_clock_mhz, max_sm_clock_mhz, max_memory_clock_mhz, power_limit_mw,
// default_power_limit_mw, ecc, mig, persistence, virtualization, throttle_reasons}, library.{cudart, cublas, cublaslt,
// cudnn, nccl, cufft, cusparse, cusolver, nvrtc, torch}, host.{arch, kernel, cpu_count, glibc}, env.NAME. Booleans are
// "0" and "1"; what is unknown has no key; nvml.error says why there are no gpu keys.

#include <cstdint>
#include <optional>

#include "base/nvml/nvml.h"
#include "capture/spool/writer.h"

namespace stallhound::record {

class DeviceRecorder {
 public:
  // `writer` must outlive this. `nvml_path`: nullptr for the driver's library.
  explicit DeviceRecorder(capture::spool::SpoolWriter& writer, const char* nvml_path = nullptr)
      : writer_(writer), nvml_path_(nvml_path) {}

  // Writes everything; once, soon after the first event.
  void RecordFingerprint();
  // Notes why clocks are lowered now; every second or so.
  void SampleThrottleReasons();
  // Writes the libraries that were mapped since, and all throttle reasons seen (gpu.N.throttle_reasons).
  void RecordEnd();

 private:
  void RecordGpu(const NvmlDevice& device);
  void RecordHost();
  void RecordVariables();
  void RecordThrottleReasons(unsigned index);

  capture::spool::SpoolWriter& writer_;
  const char* nvml_path_;
  std::optional<Nvml> nvml_;
  unsigned gpu_count_ = 0;
  uint64_t throttle_reasons_[kMaxNvmlDevices] = {};
};

}  // namespace stallhound::record
