#include "record/device/device_recorder.h"

#include <gnu/libc-version.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "record/control/environment.h"
#include "record/device/mapped_libraries.h"

namespace stallhound::record {
namespace {

constexpr size_t kMaxKeyBytes = 64;
constexpr size_t kMaxValueBytes = 256;

// Writes "gpu.N.field" keys.
class GpuKeys {
 public:
  GpuKeys(capture::spool::SpoolWriter& writer, unsigned index) : writer_(writer), index_(index) {}

  void Text(const char* field, const char* value) {
    if (value[0] == '\0') return;
    char key[kMaxKeyBytes];
    snprintf(key, sizeof(key), "gpu.%u.%s", index_, field);
    writer_.AddKeyValue(key, value);
  }
  template <typename Number>
  void Value(const char* field, const std::optional<Number>& value) {
    if (!value) return;
    char text[32];
    snprintf(text, sizeof(text), "%llu", static_cast<unsigned long long>(*value));
    Text(field, text);
  }

 private:
  capture::spool::SpoolWriter& writer_;
  unsigned index_;
};

void AddLibrary(void* writer, const char* name, const char* version) {
  char key[kMaxKeyBytes];
  snprintf(key, sizeof(key), "library.%s", name);
  static_cast<capture::spool::SpoolWriter*>(writer)->AddKeyValue(key, version);
}

}  // namespace

void DeviceRecorder::RecordFingerprint() {
  RecordHost();
  RecordVariables();
  VisitMappedLibraries(AddLibrary, &writer_);
  nvml_.emplace(nvml_path_);
  if (!nvml_->is_usable()) {
    writer_.AddKeyValue("nvml.error", nvml_->error());
    return;
  }
  const NvmlSystem system = nvml_->System();
  char text[32];
  if (system.driver_version[0] != '\0') writer_.AddKeyValue("driver.version", system.driver_version);
  if (system.cuda_version) {
    snprintf(text, sizeof(text), "%d.%d", *system.cuda_version / 1000, *system.cuda_version % 1000 / 10);
    writer_.AddKeyValue("driver.cuda_version", text);
  }
  if (system.confidential) writer_.AddKeyValue("confidential_computing", *system.confidential ? "1" : "0");
  if (!system.device_count) return;
  gpu_count_ = *system.device_count < kMaxNvmlDevices ? *system.device_count : kMaxNvmlDevices;
  snprintf(text, sizeof(text), "%u", *system.device_count);
  writer_.AddKeyValue("gpu.count", text);
  for (unsigned index = 0; index < gpu_count_; ++index) {
    if (const auto device = nvml_->Device(index)) RecordGpu(*device);
  }
}

void DeviceRecorder::RecordGpu(const NvmlDevice& device) {
  GpuKeys keys(writer_, device.index);
  keys.Text("name", device.name);
  keys.Value("memory_bytes", device.memory_bytes);
  if (device.compute_major && device.compute_minor) {
    char capability[16];
    snprintf(capability, sizeof(capability), "%d.%d", *device.compute_major, *device.compute_minor);
    keys.Text("compute_capability", capability);
  }
  keys.Value("sm_count", device.sm_count);
  keys.Value("sm_clock_mhz", device.sm_clock_mhz);
  keys.Value("memory_clock_mhz", device.memory_clock_mhz);
  keys.Value("max_sm_clock_mhz", device.max_sm_clock_mhz);
  keys.Value("max_memory_clock_mhz", device.max_memory_clock_mhz);
  keys.Value("power_limit_mw", device.power_limit_mw);
  keys.Value("default_power_limit_mw", device.default_power_limit_mw);
  keys.Value("ecc", device.ecc);
  keys.Value("mig", device.mig);
  keys.Value("persistence", device.persistence);
  if (device.virtualization) keys.Text("virtualization", NvmlVirtualizationName(*device.virtualization));
  if (device.throttle_reasons) throttle_reasons_[device.index] |= *device.throttle_reasons;
}

void DeviceRecorder::RecordHost() {
  utsname name{};
  if (uname(&name) == 0) {
    writer_.AddKeyValue("host.arch", name.machine);
    writer_.AddKeyValue("host.kernel", name.release);
  }
  char cpus[16];
  snprintf(cpus, sizeof(cpus), "%ld", sysconf(_SC_NPROCESSORS_ONLN));
  writer_.AddKeyValue("host.cpu_count", cpus);
  writer_.AddKeyValue("host.glibc", gnu_get_libc_version());
}

void DeviceRecorder::RecordVariables() {
  for (const char* name : kRecordedVariables) {
    const char* value = getenv(name);
    if (value == nullptr) continue;
    char key[kMaxKeyBytes];
    char text[kMaxValueBytes];
    snprintf(key, sizeof(key), "env.%s", name);
    snprintf(text, sizeof(text), "%s", value);
    writer_.AddKeyValue(key, text);
  }
}

void DeviceRecorder::SampleThrottleReasons() {
  for (unsigned index = 0; index < gpu_count_; ++index) {
    throttle_reasons_[index] |= nvml_->ThrottleReasons(index).value_or(0);
  }
}

void DeviceRecorder::RecordThrottleReasons(unsigned index) {
  char text[kMaxValueBytes] = "";
  size_t used = 0;
  for (int bit = 0; bit < kNvmlThrottleBits; ++bit) {
    if ((throttle_reasons_[index] >> bit & 1) == 0) continue;
    used += static_cast<size_t>(
        snprintf(text + used, sizeof(text) - used, "%s%s", used == 0 ? "" : ",", NvmlThrottleReason(bit)));
  }
  GpuKeys(writer_, index).Text("throttle_reasons", text);
}

void DeviceRecorder::RecordEnd() {
  VisitMappedLibraries(AddLibrary, &writer_);
  for (unsigned index = 0; index < gpu_count_; ++index) RecordThrottleReasons(index);
}

}  // namespace stallhound::record
