#include "cli/bench/run_environment.h"

#include <absl/strings/str_split.h>
#include <absl/strings/strip.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/utsname.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "base/file.h"
#include "base/units.h"
#include "record/control/environment.h"

namespace stallhound::cli {
namespace {

constexpr int64_t kHzPerMhz = 1'000'000;

// Allow-listed, but of a process's place in a job, not of how fast it is.
constexpr std::string_view kNoSwitches[] = {"CUDA_VISIBLE_DEVICES", "RANK", "LOCAL_RANK", "WORLD_SIZE"};

std::optional<std::string> Find(const std::map<std::string, std::string>& facts, const std::string& key) {
  const auto found = facts.find(key);
  return found == facts.end() || found->second.empty() ? std::nullopt : std::optional(found->second);
}

std::optional<int64_t> FindNumber(const std::map<std::string, std::string>& facts, const std::string& key) {
  const std::optional<std::string> text = Find(facts, key);
  return text ? ParseInteger(*text) : std::nullopt;
}

std::optional<int64_t> FindHz(const std::map<std::string, std::string>& facts, const std::string& key) {
  const std::optional<int64_t> mhz = FindNumber(facts, key);
  return mhz ? std::optional(*mhz * kHzPerMhz) : std::nullopt;
}

std::optional<bool> FindFlag(const std::map<std::string, std::string>& facts, const std::string& key) {
  const std::optional<std::string> text = Find(facts, key);
  return text ? std::optional(*text == "1") : std::nullopt;
}

std::string CpuModel() {
  const absl::StatusOr<std::string> text = ReadFile("/proc/cpuinfo");
  if (!text.ok()) return "";
  for (absl::string_view line : absl::StrSplit(*text, '\n')) {
    if (!absl::ConsumePrefix(&line, "model name")) continue;
    return std::string(absl::StripAsciiWhitespace(line.substr(std::min(line.find(':') + 1, line.size()))));
  }
  return "";
}

void FillGpu(const Fingerprint& fingerprint, const std::map<std::string, std::string>& context,
             store::Hardware& hardware) {
  const std::string gpu = "gpu.0.";
  hardware.gpu_name = Find(fingerprint, gpu + "name");
  if (!hardware.gpu_name) hardware.gpu_name = Find(context, "device_name");
  hardware.gpu_count = FindNumber(fingerprint, "gpu.count");
  hardware.compute_capability = Find(fingerprint, gpu + "compute_capability");
  hardware.sm_count = FindNumber(fingerprint, gpu + "sm_count");
  hardware.memory_bytes = FindNumber(fingerprint, gpu + "memory_bytes");
  hardware.memory_clock_max_hz = FindHz(fingerprint, gpu + "max_memory_clock_mhz");
  hardware.sm_clock_max_hz = FindHz(fingerprint, gpu + "max_sm_clock_mhz");
  hardware.power_limit_mw = FindNumber(fingerprint, gpu + "power_limit_mw");
  hardware.ecc = FindFlag(fingerprint, gpu + "ecc");
  if (const std::optional<bool> mig = FindFlag(fingerprint, gpu + "mig")) hardware.mig_profile = *mig ? "on" : "";
}

}  // namespace

Fingerprint FingerprintOf(const analysis::CasesReport& recorded) {
  Fingerprint fingerprint;
  for (const analysis::EnvironmentEntry& entry : recorded.environment) fingerprint[entry.key] = entry.value;
  return fingerprint;
}

HostFacts ReadHostFacts() {
  HostFacts host;
  host.cpu_model = CpuModel();
  cpu_set_t usable;
  if (sched_getaffinity(0, sizeof usable, &usable) == 0) host.cpu_count = CPU_COUNT(&usable);
  utsname name{};
  if (uname(&name) == 0) host.kernel = name.release;
  for (const char* variable : record::kRecordedVariables) {
    const bool is_switch = std::find(std::begin(kNoSwitches), std::end(kNoSwitches), variable) == std::end(kNoSwitches);
    const char* value = getenv(variable);
    if (is_switch && value != nullptr) host.switches[variable] = value;
  }
  return host;
}

void FillEnvironment(const Fingerprint& fingerprint, const std::map<std::string, std::string>& context,
                     const HostFacts& host, store::RunInfo& info) {
  store::Hardware& hardware = info.hardware;
  if (!host.cpu_model.empty()) hardware.cpu_model = host.cpu_model;
  if (host.cpu_count > 0) hardware.cpu_count = host.cpu_count;
  const std::optional<std::string> device = Find(context, "stallhound_device");
  if (device == "cuda") FillGpu(fingerprint, context, hardware);
  if (device == "cpu") hardware.gpu_count = 0;

  store::Environment& environment = info.environment;
  environment.driver = Find(fingerprint, "driver.version");
  if (!environment.driver) environment.driver = Find(context, "driver_version");
  environment.cuda_runtime = Find(fingerprint, "library.cudart");
  environment.libtorch = Find(fingerprint, "library.torch");
  if (!environment.libtorch) environment.libtorch = Find(context, "torch_version");
  environment.cudnn = Find(fingerprint, "library.cudnn");
  environment.cublas = Find(fingerprint, "library.cublas");
  environment.compiler = Find(context, "compiler");
  environment.build_flags = Find(context, "build_flags");
  if (!host.kernel.empty()) environment.host_kernel = host.kernel;
  environment.persistence_mode = FindFlag(fingerprint, "gpu.0.persistence");
  environment.switches = host.switches;
}

}  // namespace stallhound::cli
