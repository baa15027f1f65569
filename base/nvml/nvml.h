#pragma once

// What the NVIDIA management library tells about the GPUs of this machine. The library is opened at run time
// (libnvidia-ml.so.1 comes with the driver) and what it does not know is nullopt. std only, no exceptions. NVML needs
// no CUDA context and takes milliseconds per device: keep it off hot paths. Source: nvml.h of CUDA 12.4 to 13.0.

#include <cstdint>
#include <optional>

namespace stallhound {

inline constexpr int kMaxNvmlDevices = 64;

enum class NvmlVirtualization : uint8_t { kNone = 0, kPassthrough = 1, kVgpu = 2, kHostVgpu = 3, kHostVsga = 4 };

// "none", "passthrough", "vgpu", "host-vgpu", "host-vsga".
const char* NvmlVirtualizationName(NvmlVirtualization mode);

struct NvmlSystem {
  char driver_version[80] = "";      // "580.65.06"; "" if unknown
  std::optional<int> cuda_version;   // of the driver, 13000 for 13.0
  std::optional<bool> confidential;  // confidential computing is on
  std::optional<unsigned> device_count;
};

struct NvmlDevice {
  unsigned index = 0;
  char name[96] = "";  // "" if unknown
  std::optional<uint64_t> memory_bytes;
  std::optional<int> compute_major;
  std::optional<int> compute_minor;
  std::optional<int> sm_count;           // from the CUDA cores; nullopt for architectures that are not known here
  std::optional<unsigned> sm_clock_mhz;  // now
  std::optional<unsigned> memory_clock_mhz;
  std::optional<unsigned> max_sm_clock_mhz;
  std::optional<unsigned> max_memory_clock_mhz;
  std::optional<unsigned> power_limit_mw;  // enforced
  std::optional<unsigned> default_power_limit_mw;
  std::optional<bool> ecc;
  std::optional<bool> mig;
  std::optional<bool> persistence;
  std::optional<uint64_t> throttle_reasons;  // bits: NvmlThrottleReason
  std::optional<NvmlVirtualization> virtualization;
};

// The word of the reason at `bit` ("sw-power-cap"), nullptr for a bit without one.
const char* NvmlThrottleReason(int bit);
inline constexpr int kNvmlThrottleBits = 9;

class Nvml {
 public:
  // Opens and initialises the library at `path` (nullptr: the driver's). Look at error() before anything else.
  explicit Nvml(const char* path = nullptr);
  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  bool is_loaded() const { return library_ != nullptr; }
  bool is_usable() const { return is_initialised_; }
  // Why it is not usable: the loader's or NVML's words; "" if it is.
  const char* error() const { return error_; }

  NvmlSystem System() const;
  // nullopt: no device of that index.
  std::optional<NvmlDevice> Device(unsigned index) const;
  // Why the clocks of a device are lowered now; cheaper than Device.
  std::optional<uint64_t> ThrottleReasons(unsigned index) const;

 private:
  template <typename Function>
  Function* Find(const char* name, const char* older_name = nullptr) const;
  void SetError(const char* attempt, const char* cause);
  void* Handle(unsigned index) const;
  void QueryClocks(void* device, NvmlDevice& result) const;
  void QueryModes(void* device, NvmlDevice& result) const;

  void* library_ = nullptr;
  bool is_initialised_ = false;
  char error_[256] = "";
};

}  // namespace stallhound
