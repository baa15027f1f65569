#include "base/nvml/nvml.h"

#include <dlfcn.h>

#include <cstdio>
#include <cstring>

namespace stallhound {
namespace {

constexpr char kDriverLibrary[] = "libnvidia-ml.so.1";
constexpr int kSuccess = 0;

// NVML's numbers (nvmlClockType_t, nvmlEnableState_t).
constexpr int kSmClock = 1;
constexpr int kMemoryClock = 2;

struct MemoryInfo {  // nvmlMemory_t
  unsigned long long total;
  unsigned long long free;
  unsigned long long used;
};

struct ConfidentialState {  // nvmlConfComputeSystemState_t
  unsigned environment;
  unsigned feature;  // 1: on
  unsigned tools_mode;
};

using DeviceHandle = void*;  // nvmlDevice_t

// CUDA cores of one SM; nullopt for architectures that are newer than this table.
std::optional<int> CoresPerSm(int major, int minor) {
  if (major == 7 || (major == 6 && minor == 0) || (major == 8 && minor == 0)) return 64;
  if (major >= 5 && major <= 12) return 128;
  return std::nullopt;
}

}  // namespace

const char* NvmlVirtualizationName(NvmlVirtualization mode) {
  switch (mode) {
    case NvmlVirtualization::kNone:
      return "none";
    case NvmlVirtualization::kPassthrough:
      return "passthrough";
    case NvmlVirtualization::kVgpu:
      return "vgpu";
    case NvmlVirtualization::kHostVgpu:
      return "host-vgpu";
    case NvmlVirtualization::kHostVsga:
      return "host-vsga";
  }
  return "unknown";
}

const char* NvmlThrottleReason(int bit) {
  constexpr const char* kReasons[kNvmlThrottleBits] = {
      "gpu-idle",      "application-clocks",  "sw-power-cap",        "hw-slowdown",
      "sync-boost",    "sw-thermal-slowdown", "hw-thermal-slowdown", "hw-power-brake",
      "display-clocks"};
  return bit >= 0 && bit < kNvmlThrottleBits ? kReasons[bit] : nullptr;
}

Nvml::Nvml(const char* path) {
  library_ = dlopen(path != nullptr ? path : kDriverLibrary, RTLD_LAZY | RTLD_LOCAL);
  if (library_ == nullptr) {
    SetError("open", dlerror());
    return;
  }
  auto* init = Find<int()>("nvmlInit_v2", "nvmlInit");
  if (init == nullptr) {
    SetError("initialise", "the library has no nvmlInit_v2");
    return;
  }
  const int result = init();
  is_initialised_ = result == kSuccess;
  if (is_initialised_) return;
  auto* describe = Find<const char*(int)>("nvmlErrorString");
  SetError("initialise", describe != nullptr ? describe(result) : "unknown error");
}

Nvml::~Nvml() {
  if (is_initialised_) {
    if (auto* shutdown = Find<int()>("nvmlShutdown")) shutdown();
  }
  if (library_ != nullptr) dlclose(library_);
}

template <typename Function>
Function* Nvml::Find(const char* name, const char* older_name) const {
  void* symbol = dlsym(library_, name);
  if (symbol == nullptr && older_name != nullptr) symbol = dlsym(library_, older_name);
  return reinterpret_cast<Function*>(symbol);
}

void Nvml::SetError(const char* attempt, const char* cause) {
  snprintf(error_, sizeof(error_), "cannot %s NVML: %s", attempt, cause != nullptr ? cause : "unknown cause");
}

NvmlSystem Nvml::System() const {
  NvmlSystem result;
  if (!is_initialised_) return result;
  auto* driver_version = Find<int(char*, unsigned)>("nvmlSystemGetDriverVersion");
  if (driver_version != nullptr && driver_version(result.driver_version, sizeof(result.driver_version)) != kSuccess) {
    result.driver_version[0] = '\0';
  }
  result.driver_version[sizeof(result.driver_version) - 1] = '\0';
  auto* cuda_version = Find<int(int*)>("nvmlSystemGetCudaDriverVersion_v2", "nvmlSystemGetCudaDriverVersion");
  int version = 0;
  if (cuda_version != nullptr && cuda_version(&version) == kSuccess) result.cuda_version = version;
  auto* count_devices = Find<int(unsigned*)>("nvmlDeviceGetCount_v2", "nvmlDeviceGetCount");
  unsigned count = 0;
  if (count_devices != nullptr && count_devices(&count) == kSuccess) result.device_count = count;
  auto* confidential = Find<int(ConfidentialState*)>("nvmlSystemGetConfComputeState");
  ConfidentialState state{};
  if (confidential != nullptr && confidential(&state) == kSuccess) result.confidential = state.feature == 1;
  return result;
}

void* Nvml::Handle(unsigned index) const {
  auto* get_handle = Find<int(unsigned, DeviceHandle*)>("nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetHandleByIndex");
  DeviceHandle device = nullptr;
  return get_handle != nullptr && get_handle(index, &device) == kSuccess ? device : nullptr;
}

std::optional<uint64_t> Nvml::ThrottleReasons(unsigned index) const {
  DeviceHandle device = is_initialised_ ? Handle(index) : nullptr;
  auto* reasons = Find<int(DeviceHandle, unsigned long long*)>("nvmlDeviceGetCurrentClocksEventReasons",
                                                               "nvmlDeviceGetCurrentClocksThrottleReasons");
  unsigned long long bits = 0;
  if (device == nullptr || reasons == nullptr || reasons(device, &bits) != kSuccess) return std::nullopt;
  return bits;
}

std::optional<NvmlDevice> Nvml::Device(unsigned index) const {
  if (!is_initialised_) return std::nullopt;
  DeviceHandle device = Handle(index);
  if (device == nullptr) return std::nullopt;
  NvmlDevice result;
  result.index = index;
  auto* name = Find<int(DeviceHandle, char*, unsigned)>("nvmlDeviceGetName");
  if (name != nullptr && name(device, result.name, sizeof(result.name)) != kSuccess) result.name[0] = '\0';
  result.name[sizeof(result.name) - 1] = '\0';
  auto* memory_info = Find<int(DeviceHandle, MemoryInfo*)>("nvmlDeviceGetMemoryInfo");
  MemoryInfo memory{};
  if (memory_info != nullptr && memory_info(device, &memory) == kSuccess) result.memory_bytes = memory.total;
  auto* capability = Find<int(DeviceHandle, int*, int*)>("nvmlDeviceGetCudaComputeCapability");
  int major = 0;
  int minor = 0;
  if (capability != nullptr && capability(device, &major, &minor) == kSuccess) {
    result.compute_major = major;
    result.compute_minor = minor;
    auto* core_count = Find<int(DeviceHandle, unsigned*)>("nvmlDeviceGetNumGpuCores");
    unsigned cores = 0;
    const std::optional<int> per_sm = CoresPerSm(major, minor);
    if (per_sm && core_count != nullptr && core_count(device, &cores) == kSuccess) {
      result.sm_count = static_cast<int>(cores) / *per_sm;
    }
  }
  QueryClocks(device, result);
  QueryModes(device, result);
  return result;
}

void Nvml::QueryClocks(void* device, NvmlDevice& result) const {
  auto clock = [&](const char* function, int type) -> std::optional<unsigned> {
    auto* get = Find<int(DeviceHandle, int, unsigned*)>(function);
    unsigned mhz = 0;
    return get != nullptr && get(device, type, &mhz) == kSuccess ? std::optional(mhz) : std::nullopt;
  };
  result.sm_clock_mhz = clock("nvmlDeviceGetClockInfo", kSmClock);
  result.memory_clock_mhz = clock("nvmlDeviceGetClockInfo", kMemoryClock);
  result.max_sm_clock_mhz = clock("nvmlDeviceGetMaxClockInfo", kSmClock);
  result.max_memory_clock_mhz = clock("nvmlDeviceGetMaxClockInfo", kMemoryClock);
  auto number = [&](const char* function) -> std::optional<unsigned> {
    auto* get = Find<int(DeviceHandle, unsigned*)>(function);
    unsigned value = 0;
    return get != nullptr && get(device, &value) == kSuccess ? std::optional(value) : std::nullopt;
  };
  result.power_limit_mw = number("nvmlDeviceGetEnforcedPowerLimit");
  result.default_power_limit_mw = number("nvmlDeviceGetPowerManagementDefaultLimit");
  result.throttle_reasons = ThrottleReasons(result.index);
}

void Nvml::QueryModes(void* device, NvmlDevice& result) const {
  // Current and pending state; a pending change counts after the next reset only.
  auto mode = [&](const char* function) -> std::optional<bool> {
    auto* get = Find<int(DeviceHandle, unsigned*, unsigned*)>(function);
    unsigned current = 0;
    unsigned pending = 0;
    return get != nullptr && get(device, &current, &pending) == kSuccess ? std::optional(current != 0) : std::nullopt;
  };
  result.ecc = mode("nvmlDeviceGetEccMode");
  result.mig = mode("nvmlDeviceGetMigMode");
  auto* persistence = Find<int(DeviceHandle, unsigned*)>("nvmlDeviceGetPersistenceMode");
  unsigned state = 0;
  if (persistence != nullptr && persistence(device, &state) == kSuccess) result.persistence = state != 0;
  auto* virtualization = Find<int(DeviceHandle, int*)>("nvmlDeviceGetVirtualizationMode");
  int virtualization_mode = -1;
  if (virtualization != nullptr && virtualization(device, &virtualization_mode) == kSuccess &&
      virtualization_mode >= 0 && virtualization_mode <= static_cast<int>(NvmlVirtualization::kHostVsga)) {
    result.virtualization = static_cast<NvmlVirtualization>(virtualization_mode);
  }
}

}  // namespace stallhound
