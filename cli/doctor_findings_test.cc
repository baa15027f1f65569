#include "cli/doctor_findings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stallhound::cli {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

// A machine on which everything works.
json GoodFacts() {
  return json::parse(R"({
    "probe_version": 1, "arch": "x86_64", "glibc": "2.36", "wsl": false, "container": null,
    "nvidia_devices": ["/dev/nvidia0"], "counters_restricted": false,
    "libcuda": {"found": true, "path": "/usr/lib/libcuda.so.1", "error": null},
    "cuda": {"init_result": 0, "driver_version": "13.0", "device_count": 1, "devices": [{"name": "NVIDIA H200"}]},
    "nvml": {"found": true, "devices": [{"index": 0, "mig_mode": false, "persistence": true, "virtualization": "none",
             "sm_clock_mhz": 345, "max_sm_clock_mhz": 1980, "power_limit_w": 700, "default_power_limit_w": 700,
             "throttle_reasons": ["gpu-idle"]}]},
    "confidential_computing": false, "container_capability_missing": false,
    "mps": {"server_running": false, "client_of": null},
    "cupti": {"found": true, "path": "/x/libcupti.so.13", "origin": "toolkit", "version": "13.0"},
    "cupti_holder": {"is_held": false},
    "recorder": {"path": "/x/libstallhound_record.so", "loads": true, "missing_symbols": []},
    "injection": {"CUDA_INJECTION64_PATH": null}, "stallhound_variables": {}, "launch_blocking": false,
    "crashed_steps": []})");
}

std::vector<Finding> Problems(const json& facts) {
  std::vector<Finding> problems;
  for (const Finding& finding : FindingsOf(facts)) {
    if (finding.level != FindingLevel::kFine) problems.push_back(finding);
  }
  return problems;
}

// GoodFacts with one change gives one finding.
struct Case {
  const char* pointer;
  json value;
  FindingLevel level;
  const char* text;
  const char* advice;
};

TEST(DoctorFindingsTest, AGoodMachineHasNoProblems) {
  EXPECT_TRUE(Problems(GoodFacts()).empty());
  std::string all;
  for (const Finding& finding : FindingsOf(GoodFacts())) all += finding.text + "\n";
  EXPECT_THAT(all, HasSubstr("NVIDIA H200"));
  EXPECT_THAT(all, HasSubstr("CUPTI 13.0: /x/libcupti.so.13 (toolkit)"));
  EXPECT_THAT(all, HasSubstr("at most 1980 MHz"));
}

TEST(DoctorFindingsTest, EveryProblemHasItsAdvice) {
  const auto blocked = FindingLevel::kBlocked;
  const auto note = FindingLevel::kNote;
  const Case cases[] = {
      {"/recorder", {{"loads", false}, {"error", "version `GLIBC_2.38' not found"}}, blocked, "GLIBC_2.38", "2.36"},
      {"/recorder", {{"loads", false}, {"error", "wrong ELF class"}}, blocked, "wrong ELF class", "x86_64"},
      {"/recorder", {{"loads", false}, {"error", "no such file"}}, blocked, "no such file", "STALLHOUND_RECORDER"},
      {"/recorder/missing_symbols", json::array({"InitializeInjection"}), blocked, "InitializeInjection", "reinstall"},
      {"/glibc", nullptr, blocked, "not glibc", "glibc"},
      {"/container_capability_missing", true, blocked, "container", "compute,utility"},
      {"/libcuda", {{"found", false}}, blocked, "no CUDA driver", "driver's libraries"},
      {"/cuda/init_result", 999, blocked, "cuInit fails with 999", "nvidia-smi"},
      {"/cuda/device_count", 0, blocked, "no device", "CUDA_VISIBLE_DEVICES"},
      {"/cupti", {{"found", false}}, blocked, "no CUPTI", "STALLHOUND_CUPTI"},
      {"/cupti_holder", {{"is_held", true}, {"name", "nsys"}}, blocked, "nsys", "--yield-to-profiler"},
      {"/wsl", true, note, "WSL", "Linux"},
      {"/container", "docker", note, "docker", "STALLHOUND_HOME"},
      {"/confidential_computing", true, note, "confidential", "CUPTI"},
      {"/mps/server_running", true, note, "MPS", "idle"},
      {"/mps/client_of", "/tmp/nvidia-mps", note, "MPS", "idle"},
      {"/counters_restricted", true, note, "counters", "hunt needs no counters"},
      {"/nvml/devices/0/mig_mode", true, note, "MIG", "instance"},
      {"/nvml/devices/0/virtualization", "vgpu", note, "vgpu", "enable_profiling"},
      {"/nvml/devices/0/persistence", false, note, "persistence", "-pm 1"},
      {"/nvml/devices/0/power_limit_w", 500, note, "500 W of 700 W", "-pl"},
      {"/nvml/devices/0/throttle_reasons", json::array({"sw-power-cap"}), note, "sw-power-cap", "vary"},
      {"/nvml", {{"found", false}}, note, "NVML", "utility"},
      {"/injection/CUDA_INJECTION64_PATH", "/nsys.so", note, "/nsys.so", "--yield-to-profiler"},
      {"/injection/NVTX_INJECTION64_PATH", "/nsys.so", note, "NVTX_INJECTION64_PATH", "replaces"},
      {"/injection/LD_PRELOAD", "/jemalloc.so", note, "/jemalloc.so", "without it"},
      {"/launch_blocking", true, note, "CUDA_LAUNCH_BLOCKING", "unset"},
      {"/stallhound_variables/STALLHOUND_DISABLE", "1", blocked, "STALLHOUND_DISABLE", "unset"},
      {"/crashed_steps", json::array({"nvml"}), note, "nvml crashed", "unknown"},
  };
  for (const Case& test : cases) {
    json facts = GoodFacts();
    facts[json::json_pointer(test.pointer)] = test.value;
    const std::vector<Finding> problems = Problems(facts);
    ASSERT_EQ(problems.size(), 1u) << test.pointer;
    EXPECT_EQ(problems[0].level, test.level) << test.pointer;
    EXPECT_THAT(problems[0].text, HasSubstr(test.text)) << test.pointer;
    EXPECT_THAT(problems[0].advice, HasSubstr(test.advice)) << test.pointer;
  }
}

TEST(DoctorFindingsTest, UnknownFactsAndOddTypesGiveNothing) {
  EXPECT_TRUE(FindingsOf(json::object()).empty());
  json facts = GoodFacts();
  for (auto& [key, value] : facts.items()) {
    if (key != "glibc") value = nullptr;
  }
  EXPECT_TRUE(FindingsOf(facts).empty());
  for (const json& odd : {json(1), json("text"), json::array({1, "x", nullptr}), json(true)}) {
    for (auto& [key, value] : facts.items()) value = odd;
    FindingsOf(facts);
  }
}

}  // namespace
}  // namespace stallhound::cli
