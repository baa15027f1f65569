#include "cli/bench/run_environment.h"

#include <absl/strings/match.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_split.h>
#include <absl/strings/strip.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/utsname.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "base/units.h"
#include "record/control/environment.h"

namespace stallhound::cli {
namespace {

constexpr int64_t kHzPerMhz = 1'000'000;

constexpr int64_t kMostGpus = 64;                 // that a fingerprint describes
constexpr std::string_view kSliceMark = " MIG ";  // "NVIDIA H200 MIG 1g.18gb"

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

// What is known of the GPU that CUDA names `name`, by the last part of the keys. The fingerprint numbers GPUs by PCI
// address, CUDA in its own way, and nothing recorded tells which is which: what all GPUs of that name share; what all
// share if none has it.
Fingerprint FactsOfGpu(const Fingerprint& fingerprint, std::string_view name) {
  std::vector<Fingerprint> all;
  std::vector<Fingerprint> named;
  const int64_t count = std::min(FindNumber(fingerprint, "gpu.count").value_or(0), kMostGpus);
  for (int64_t index = 0; index < count; ++index) {
    const std::string prefix = absl::StrCat("gpu.", index, ".");
    Fingerprint& facts = all.emplace_back();
    for (auto fact = fingerprint.lower_bound(prefix);
         fact != fingerprint.end() && absl::StartsWith(fact->first, prefix); ++fact) {
      facts[fact->first.substr(prefix.size())] = fact->second;
    }
    if (Find(facts, "name") == name) named.push_back(facts);
  }
  const std::vector<Fingerprint>& candidates = named.empty() ? all : named;
  if (candidates.empty()) return {};
  Fingerprint shared = candidates.front();
  for (const Fingerprint& other : candidates) {
    std::erase_if(shared, [&](const auto& fact) { return Find(other, fact.first) != fact.second; });
  }
  return shared;
}

void FillGpu(const Fingerprint& fingerprint, const std::map<std::string, std::string>& context, store::RunInfo& info) {
  store::Hardware& hardware = info.hardware;
  hardware.gpu_name = Find(context, "device_name");
  const std::string name = hardware.gpu_name.value_or("");
  const size_t slice = name.find(kSliceMark);
  const Fingerprint gpu = FactsOfGpu(fingerprint, std::string_view(name).substr(0, slice));
  if (!hardware.gpu_name) hardware.gpu_name = Find(gpu, "name");
  hardware.gpu_count = FindNumber(fingerprint, "gpu.count");
  hardware.compute_capability = Find(gpu, "compute_capability");
  hardware.memory_clock_max_hz = FindHz(gpu, "max_memory_clock_mhz");
  hardware.sm_clock_max_hz = FindHz(gpu, "max_sm_clock_mhz");
  hardware.power_limit_mw = FindNumber(gpu, "power_limit_mw");
  hardware.ecc = FindFlag(gpu, "ecc");
  info.environment.persistence_mode = FindFlag(gpu, "persistence");
  const std::optional<bool> has_slices = FindFlag(gpu, "mig");
  if (slice != std::string::npos) {
    hardware.mig_profile = name.substr(slice + kSliceMark.size());
  } else if (has_slices == false) {
    hardware.mig_profile = "";
  }
  if (slice != std::string::npos || has_slices == true) return;  // a slice is smaller than its GPU
  hardware.sm_count = FindNumber(gpu, "sm_count");
  hardware.memory_bytes = FindNumber(gpu, "memory_bytes");
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
  if (device == "cuda") FillGpu(fingerprint, context, info);
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
  environment.switches = host.switches;
}

}  // namespace stallhound::cli
