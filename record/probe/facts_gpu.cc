#include <dlfcn.h>
#include <link.h>

#include <cstdio>
#include <cstdlib>

#include "base/nvml/nvml.h"
#include "record/probe/facts.h"
#include "record/probe/file_text.h"
#include "record/probe/isolated.h"

namespace stallhound::record {
namespace {

constexpr char kCudaLibrary[] = "libcuda.so.1";
// CUdevice_attribute
constexpr int kComputeMajor = 75;
constexpr int kComputeMinor = 76;

// A library that is injected would run in the probe, and its words and crashes would be ours.
void DropInjection() {
  unsetenv("CUDA_INJECTION64_PATH");
  unsetenv("NVTX_INJECTION64_PATH");
}

std::string PathOf(void* library) {
  link_map* map = nullptr;
  if (dlinfo(library, RTLD_DI_LINKMAP, &map) != 0 || map == nullptr || map->l_name == nullptr) return "";
  return RealPath(map->l_name).value_or(map->l_name);
}

template <typename Function>
Function* Find(void* library, const char* name) {
  return reinterpret_cast<Function*>(dlsym(library, name));
}

std::string Version(int number) { return std::to_string(number / 1000) + "." + std::to_string(number % 1000 / 10); }

void AddDevices(void* library, int count, JsonText& json) {
  auto* get = Find<int(int*, int)>(library, "cuDeviceGet");
  auto* name = Find<int(char*, int, int)>(library, "cuDeviceGetName");
  auto* attribute = Find<int(int*, int, int)>(library, "cuDeviceGetAttribute");
  for (int index = 0; index < count; ++index) {
    int device = 0;
    char text[128] = "";
    int major = 0;
    int minor = 0;
    json.BeginObject();
    const bool is_there = get != nullptr && get(&device, index) == 0;
    const bool has_name = is_there && name != nullptr && name(text, sizeof(text) - 1, device) == 0;
    json.Member("name", has_name ? text : nullptr);
    const bool has_capability = is_there && attribute != nullptr && attribute(&major, kComputeMajor, device) == 0 &&
                                attribute(&minor, kComputeMinor, device) == 0;
    json.Member("compute_capability",
                has_capability ? std::optional(std::to_string(major) + "." + std::to_string(minor)) : std::nullopt);
    json.EndObject();
  }
}

void AddCuda(void* library, JsonText& json) {
  json.Key("cuda");
  json.BeginObject();
  auto* init = library != nullptr ? Find<int(unsigned)>(library, "cuInit") : nullptr;
  const std::optional<int> result = init != nullptr ? std::optional(init(0)) : std::nullopt;
  json.Member("init_result", result);
  const char* error = nullptr;
  if (result && *result != 0) {
    auto* describe = Find<int(int, const char**)>(library, "cuGetErrorName");
    if (describe == nullptr || describe(*result, &error) != 0) error = "unknown error";
  }
  json.Member("init_error", error);
  auto* version = library != nullptr ? Find<int(int*)>(library, "cuDriverGetVersion") : nullptr;
  int number = 0;
  const bool has_version = version != nullptr && version(&number) == 0;
  json.Member("driver_version", has_version ? std::optional(Version(number)) : std::nullopt);
  int count = 0;
  auto* count_devices = result == 0 ? Find<int(int*)>(library, "cuDeviceGetCount") : nullptr;
  const bool has_count = count_devices != nullptr && count_devices(&count) == 0;
  json.Member("device_count", has_count ? std::optional(count) : std::nullopt);
  json.Key("devices");
  json.BeginArray();
  if (has_count) AddDevices(library, count, json);
  json.EndArray();
  json.EndObject();
}

std::string CudaStep(const void* context) {
  const auto& options = *static_cast<const ProbeOptions*>(context);
  DropInjection();
  std::string text;
  JsonText json(text);
  void* library = dlopen(options.cuda_path != nullptr ? options.cuda_path : kCudaLibrary, RTLD_LAZY | RTLD_LOCAL);
  const char* error = library == nullptr ? dlerror() : nullptr;
  json.Key("libcuda");
  json.BeginObject();
  json.Member("found", library != nullptr);
  json.Member("path", library != nullptr ? std::optional(PathOf(library)) : std::nullopt);
  json.Member("error", error);
  json.EndObject();
  AddCuda(library, json);
  return text;
}

void AddDevice(const NvmlDevice& device, JsonText& json) {
  const auto watts = [](const std::optional<unsigned>& milliwatts) {
    return milliwatts ? std::optional(*milliwatts / 1000) : std::nullopt;
  };
  json.BeginObject();
  json.Member("index", device.index);
  json.Member("name", device.name[0] != '\0' ? device.name : nullptr);
  json.Member("memory_bytes", device.memory_bytes);
  json.Member("sm_count", device.sm_count);
  json.Member("mig_mode", device.mig);
  json.Member("ecc", device.ecc);
  json.Member("persistence", device.persistence);
  json.Member("virtualization", device.virtualization ? NvmlVirtualizationName(*device.virtualization) : nullptr);
  json.Member("sm_clock_mhz", device.sm_clock_mhz);
  json.Member("max_sm_clock_mhz", device.max_sm_clock_mhz);
  json.Member("memory_clock_mhz", device.memory_clock_mhz);
  json.Member("power_limit_w", watts(device.power_limit_mw));
  json.Member("default_power_limit_w", watts(device.default_power_limit_mw));
  json.Key("throttle_reasons");
  json.BeginArray();
  for (int bit = 0; bit < kNvmlThrottleBits; ++bit) {
    if ((device.throttle_reasons.value_or(0) >> bit & 1) != 0) json.Text(std::string_view(NvmlThrottleReason(bit)));
  }
  json.EndArray();
  json.EndObject();
}

std::string NvmlStep(const void* context) {
  const auto& options = *static_cast<const ProbeOptions*>(context);
  std::string text;
  JsonText json(text);
  const Nvml nvml(options.nvml_path);
  const NvmlSystem system = nvml.System();
  json.Key("nvml");
  json.BeginObject();
  json.Member("found", nvml.is_loaded());
  json.Member("error", nvml.is_usable() ? nullptr : nvml.error());
  json.Member("driver_version", system.driver_version[0] != '\0' ? system.driver_version : nullptr);
  json.Member("cuda_version", system.cuda_version ? std::optional(Version(*system.cuda_version)) : std::nullopt);
  json.Key("devices");
  json.BeginArray();
  for (unsigned index = 0; index < system.device_count.value_or(0); ++index) {
    if (const auto device = nvml.Device(index)) AddDevice(*device, json);
  }
  json.EndArray();
  json.EndObject();
  json.Member("confidential_computing", system.confidential);
  return text;
}

}  // namespace

void StepFailures::Add(const char* step) {
  if (!names.empty()) names += ',';
  names += std::string("\"") + step + "\"";
}

void AddCudaFacts(const ProbeOptions& options, JsonText& json, StepFailures& failures) {
  const IsolatedResult result = RunIsolated(CudaStep, &options, options.timeout_s);
  if (result.end == IsolatedEnd::kFine) {
    json.Raw(result.text);
    return;
  }
  failures.Add("cuda");
  json.Raw(R"("libcuda":{"found":null,"path":null,"error":null},"cuda":{"init_result":null,"init_error":null,)"
           R"("driver_version":null,"device_count":null,"devices":[]})");
}

void AddNvmlFacts(const ProbeOptions& options, JsonText& json, StepFailures& failures) {
  const IsolatedResult result = RunIsolated(NvmlStep, &options, options.timeout_s);
  if (result.end == IsolatedEnd::kFine) {
    json.Raw(result.text);
    return;
  }
  failures.Add("nvml");
  json.Raw(R"("nvml":{"found":null,"error":null,"driver_version":null,"cuda_version":null,"devices":[]},)"
           R"("confidential_computing":null)");
}

}  // namespace stallhound::record
