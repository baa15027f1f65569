#include "cli/doctor_findings.h"

#include <absl/strings/str_join.h>
#include <fmt/format.h>

#include <optional>
#include <utility>

namespace stallhound::cli {
namespace {

using nlohmann::json;

const json& Member(const json& object, const char* key) {
  static const json none;
  if (!object.is_object()) return none;
  const auto found = object.find(key);
  return found == object.end() ? none : *found;
}

std::optional<std::string> Text(const json& object, const char* key) {
  const json& value = Member(object, key);
  return value.is_string() ? std::optional(value.get<std::string>()) : std::nullopt;
}

std::optional<bool> Flag(const json& object, const char* key) {
  const json& value = Member(object, key);
  return value.is_boolean() ? std::optional(value.get<bool>()) : std::nullopt;
}

std::optional<double> Number(const json& object, const char* key) {
  const json& value = Member(object, key);
  return value.is_number() ? std::optional(value.get<double>()) : std::nullopt;
}

bool IsTrue(const json& object, const char* key) { return Flag(object, key).value_or(false); }

bool IsFalse(const json& object, const char* key) { return !Flag(object, key).value_or(true); }

std::string Cause(const json& object, const char* key) {
  const std::optional<std::string> text = Text(object, key);
  return text ? ": " + *text : std::string();
}

class Findings {
 public:
  void Fine(std::string text) { list_.push_back({FindingLevel::kFine, std::move(text), ""}); }
  void Note(std::string text, std::string advice) {
    list_.push_back({FindingLevel::kNote, std::move(text), std::move(advice)});
  }
  void Blocked(std::string text, std::string advice) {
    list_.push_back({FindingLevel::kBlocked, std::move(text), std::move(advice)});
  }
  std::vector<Finding> Take() { return std::move(list_); }

 private:
  std::vector<Finding> list_;
};

std::string RecorderAdvice(const json& facts) {
  const std::string error = Text(Member(facts, "recorder"), "error").value_or("");
  if (error.find("GLIBC_") != std::string::npos) {
    return fmt::format("glibc {} is older than the recorder needs; use a newer system or container",
                       Text(facts, "glibc").value_or("of this system"));
  }
  if (error.find("ELF") != std::string::npos) {
    return fmt::format("it is built for another machine than {}; set STALLHOUND_RECORDER to one that fits",
                       Text(facts, "arch").value_or("this one"));
  }
  return "reinstall Stallhound, or set STALLHOUND_RECORDER to libstallhound_record.so";
}

void CheckRecorder(const json& facts, Findings& findings) {
  const json& recorder = Member(facts, "recorder");
  if (IsTrue(recorder, "loads")) {
    findings.Fine("the recorder loads" + Cause(recorder, "path"));
  } else if (IsFalse(recorder, "loads")) {
    findings.Blocked("the recorder does not load" + Cause(recorder, "error"), RecorderAdvice(facts));
  }
  const json& missing = Member(recorder, "missing_symbols");
  if (missing.is_array() && !missing.empty()) {
    findings.Blocked("the recorder lacks entry points: " + missing.dump(), "reinstall Stallhound");
  }
  if (Member(facts, "glibc").is_null() && facts.contains("glibc")) {
    findings.Blocked("the C library is not glibc", "use a distribution with glibc: the CUDA driver needs it too");
  }
}

void CheckDriver(const json& facts, Findings& findings) {
  const json& libcuda = Member(facts, "libcuda");
  const json& cuda = Member(facts, "cuda");
  const json& devices = Member(facts, "nvidia_devices");
  if (IsTrue(facts, "container_capability_missing")) {
    findings.Blocked("the GPU's devices are in this container, the driver's libraries are not",
                     "start it with NVIDIA_DRIVER_CAPABILITIES=compute,utility (docker: --gpus all)");
    return;
  }
  if (IsFalse(libcuda, "found")) {
    const bool has_devices = devices.is_array() && !devices.empty();
    findings.Blocked(fmt::format("there is no CUDA driver (libcuda.so.1){}", Cause(libcuda, "error")),
                     has_devices ? "install the NVIDIA driver's libraries of the version of the kernel module"
                                 : "GPU work needs a machine with a GPU and its driver; NVTX alone is recorded here");
    return;
  }
  const std::optional<double> result = Number(cuda, "init_result");
  if (result && *result != 0) {
    findings.Blocked(fmt::format("cuInit fails with {}{}", *result, Cause(cuda, "init_error")),
                     "nvidia-smi must work first; check driver, permissions of /dev/nvidia* and CUDA_VISIBLE_DEVICES");
  } else if (result && Number(cuda, "device_count").value_or(1) == 0) {
    findings.Blocked("CUDA sees no device", "check CUDA_VISIBLE_DEVICES and the container's GPU options");
  } else if (result) {
    std::vector<std::string> names;
    for (const json& device : Member(cuda, "devices")) names.push_back(Text(device, "name").value_or("unknown GPU"));
    findings.Fine(fmt::format("CUDA {} works: {}", Text(cuda, "driver_version").value_or("(unknown version)"),
                              absl::StrJoin(names, ", ")));
  }
}

void CheckCupti(const json& facts, Findings& findings) {
  const json& cupti = Member(facts, "cupti");
  if (IsFalse(cupti, "found")) {
    findings.Blocked(fmt::format("no CUPTI was found{}", Cause(cupti, "error")),
                     "install cuda-cupti or the nvidia-cuda-cupti wheel (12.4 or newer), or set STALLHOUND_CUPTI; a "
                     "program that maps its own (PyTorch) is recorded with that");
  } else if (IsTrue(cupti, "found")) {
    findings.Fine(fmt::format("CUPTI {}: {} ({})", Text(cupti, "version").value_or("of unknown version"),
                              Text(cupti, "path").value_or("unknown path"),
                              Text(cupti, "origin").value_or("unknown origin")));
  }
  const json& holder = Member(facts, "cupti_holder");
  if (IsTrue(holder, "is_held")) {
    findings.Blocked(fmt::format("another profiler holds CUPTI: {}", Text(holder, "name").value_or("unnamed")),
                     "stop it, or record with --yield-to-profiler (host side and NVTX only)");
  }
}

void CheckPlatform(const json& facts, Findings& findings) {
  if (IsTrue(facts, "wsl")) {
    findings.Note("this is WSL", "GPU times may be missing or coarse; for figures to trust use Linux itself");
  }
  if (const auto container = Text(facts, "container")) {
    findings.Note(fmt::format("this is a container ({})", *container),
                  "keep STALLHOUND_HOME on a mounted folder, so that recordings outlive it");
  }
  if (IsTrue(facts, "confidential_computing")) {
    findings.Note("the GPU runs in confidential-computing mode",
                  "CUPTI may refuse there, and copies are slower: do not compare with other machines");
  }
  const json& mps = Member(facts, "mps");
  if (IsTrue(mps, "server_running") || Text(mps, "client_of")) {
    findings.Note("MPS is in use", "other clients share the GPU: idle times include theirs");
  }
  if (IsTrue(facts, "counters_restricted")) {
    findings.Note("performance counters are for the administrator only",
                  "nothing to do: hunt needs no counters (only Nsight Compute does)");
  }
}

void CheckNvmlDevice(const json& device, Findings& findings) {
  const std::string name = fmt::format("GPU {}", Number(device, "index").value_or(0));
  if (IsTrue(device, "mig_mode")) {
    findings.Note(name + " is partitioned (MIG)", "recordings are of one instance: compare with the same profile only");
  }
  const std::string virtualization = Text(device, "virtualization").value_or("none");
  if (virtualization.find("vgpu") != std::string::npos) {
    findings.Note(fmt::format("{} is virtual ({})", name, virtualization),
                  "the host must allow profiling (vGPU parameter enable_profiling=1) for CUPTI to work");
  }
  if (IsFalse(device, "persistence")) {
    findings.Note(name + " has persistence mode off",
                  "the first call pays for the driver's start; nvidia-smi -pm 1 (as root) avoids it");
  }
  const auto clock = Number(device, "sm_clock_mhz");
  const auto max_clock = Number(device, "max_sm_clock_mhz");
  if (clock && max_clock) {
    findings.Fine(fmt::format("{} SM clock now {} MHz, at most {} MHz", name, *clock, *max_clock));
  }
  const auto power = Number(device, "power_limit_w");
  const auto default_power = Number(device, "default_power_limit_w");
  if (power && default_power && *power + 1 < *default_power) {
    findings.Note(fmt::format("{} is limited to {:.0f} W of {:.0f} W", name, *power, *default_power),
                  "times will be longer than the same GPU's elsewhere; nvidia-smi -pl sets it");
  }
  std::vector<std::string> reasons;
  for (const json& reason : Member(device, "throttle_reasons")) {
    if (reason.is_string() && reason != "gpu-idle") reasons.push_back(reason);
  }
  if (!reasons.empty()) {
    findings.Note(fmt::format("{} is held back now: {}", name, absl::StrJoin(reasons, ", ")),
                  "times may vary; let it cool down or raise the limit");
  }
}

void CheckNvml(const json& facts, Findings& findings) {
  const json& nvml = Member(facts, "nvml");
  if (IsFalse(nvml, "found") && IsTrue(Member(facts, "libcuda"), "found")) {
    findings.Note(fmt::format("NVML can't be used{}", Cause(nvml, "error")),
                  "clocks and throttling stay unknown; in a container add the `utility` capability");
  }
  for (const json& device : Member(nvml, "devices")) CheckNvmlDevice(device, findings);
}

void CheckEnvironment(const json& facts, Findings& findings) {
  const json& injection = Member(facts, "injection");
  for (const char* name : {"CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH"}) {
    if (const auto value = Text(injection, name); value && !value->empty()) {
      findings.Note(fmt::format("{} is set already: {}", name, *value),
                    "hunt replaces it for its program; with --yield-to-profiler it stays");
    }
  }
  if (const auto preload = Text(injection, "LD_PRELOAD"); preload && !preload->empty()) {
    findings.Note("LD_PRELOAD is set: " + *preload, "if a recording looks odd, try without it");
  }
  if (IsTrue(facts, "launch_blocking")) {
    findings.Note("CUDA_LAUNCH_BLOCKING is set", "every launch waits then: unset it, or the stalls are its doing");
  }
  const json& variables = Member(facts, "stallhound_variables");
  if (Text(variables, "STALLHOUND_DISABLE") == "1") {
    findings.Blocked("STALLHOUND_DISABLE is 1", "unset it: the recorder does nothing while it is set");
  }
  for (const json& step : Member(facts, "crashed_steps")) {
    if (!step.is_string()) continue;
    findings.Note(fmt::format("looking at {} crashed", step.get<std::string>()),
                  "what it would have told is unknown; the library or driver may be damaged");
  }
}

}  // namespace

std::vector<Finding> FindingsOf(const json& facts) {
  Findings findings;
  CheckRecorder(facts, findings);
  CheckDriver(facts, findings);
  CheckCupti(facts, findings);
  CheckPlatform(facts, findings);
  CheckNvml(facts, findings);
  CheckEnvironment(facts, findings);
  return findings.Take();
}

const char* FindingLevelName(FindingLevel level) {
  switch (level) {
    case FindingLevel::kFine:
      return "fine";
    case FindingLevel::kNote:
      return "note";
    case FindingLevel::kBlocked:
      return "blocked";
  }
  return "note";
}

}  // namespace stallhound::cli
