#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "record/probe/facts.h"
#include "record/probe/isolated.h"
#include "record/probe/json_text.h"

namespace stallhound::record {
namespace {

using Json = nlohmann::json;

std::string Runfile(const std::string& path) {
  return std::string(getenv("TEST_SRCDIR")) + "/" + getenv("TEST_WORKSPACE") + "/" + path;
}

// Every key of README.md.
const std::set<std::string> kKeys = {"probe_version",
                                     "arch",
                                     "kernel",
                                     "glibc",
                                     "wsl",
                                     "container",
                                     "nvidia_devices",
                                     "kernel_module_version",
                                     "counters_restricted",
                                     "libcuda",
                                     "cuda",
                                     "nvml",
                                     "confidential_computing",
                                     "container_capability_missing",
                                     "mps",
                                     "cupti",
                                     "cupti_holder",
                                     "recorder",
                                     "injection",
                                     "stallhound_variables",
                                     "launch_blocking",
                                     "crashed_steps"};

class ProbeTest : public testing::Test {
 protected:
  ProbeTest() {
    root_ = std::string(getenv("TEST_TMPDIR")) + "/" + testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::create_directories(root_);
    cuda_ = Runfile("record/probe/testdata/fake_cuda.so");
    nvml_ = Runfile("base/nvml/testdata/fake_nvml.so");
    options_ = {.root = root_, .nvml_path = nvml_.c_str(), .cuda_path = cuda_.c_str(), .timeout_s = 5};
    for (const char* name : {"FAKE_CUDA", "FAKE_NVML_INIT", "CUDA_INJECTION64_PATH", "STALLHOUND_CUPTI"})
      unsetenv(name);
  }

  void Write(const std::string& path, const std::string& text) {
    const std::filesystem::path file = root_ + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  Json Probe() { return Json::parse(ProbeAll(options_)); }

  std::string root_;
  std::string cuda_;
  std::string nvml_;
  ProbeOptions options_;
};

TEST_F(ProbeTest, TellsEveryFactOfAMachineWithAGpu) {
  Write("/dev/nvidia0", "");
  Write("/dev/nvidiactl", "");
  Write("/proc/driver/nvidia/version",
        "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  Release Build  (root)\nGCC version: 12\n");
  Write("/proc/driver/nvidia/params", "ResmanDebugLevel: 4294967295\nRmProfilingAdminOnly: 1\nOther: 0\n");
  const Json facts = Probe();
  std::set<std::string> keys;
  for (const auto& [key, value] : facts.items()) keys.insert(key);
  EXPECT_EQ(keys, kKeys);
  EXPECT_EQ(facts["nvidia_devices"], Json({"/dev/nvidia0", "/dev/nvidiactl"}));
  EXPECT_EQ(facts["kernel_module_version"], "580.65.06");
  EXPECT_EQ(facts["counters_restricted"], true);
  EXPECT_EQ(facts["libcuda"]["found"], true);
  EXPECT_EQ(facts["cuda"]["init_result"], 0);
  EXPECT_EQ(facts["cuda"]["init_error"], nullptr);
  EXPECT_EQ(facts["cuda"]["driver_version"], "13.1");
  EXPECT_EQ(facts["cuda"]["device_count"], 1);
  EXPECT_EQ(facts["cuda"]["devices"][0]["name"], "NVIDIA \"Fake\" H200");
  EXPECT_EQ(facts["cuda"]["devices"][0]["compute_capability"], "9.0");
  EXPECT_EQ(facts["nvml"]["driver_version"], "580.65.06");
  EXPECT_EQ(facts["nvml"]["cuda_version"], "13.0");
  EXPECT_EQ(facts["nvml"]["devices"][0]["sm_count"], 132);
  EXPECT_EQ(facts["nvml"]["devices"][0]["power_limit_w"], 700);
  EXPECT_EQ(facts["nvml"]["devices"][0]["default_power_limit_w"], nullptr);
  EXPECT_EQ(facts["nvml"]["devices"][0]["virtualization"], "passthrough");
  EXPECT_EQ(facts["nvml"]["devices"][0]["throttle_reasons"], Json({"gpu-idle", "sw-power-cap"}));
  EXPECT_EQ(facts["confidential_computing"], true);
  EXPECT_EQ(facts["container_capability_missing"], false);
  EXPECT_EQ(facts["crashed_steps"], Json::array());
}

TEST_F(ProbeTest, SaysWhatIsAbsentOnAMachineWithout) {
  options_.cuda_path = "/nowhere/libcuda.so.1";
  options_.nvml_path = "/nowhere/libnvidia-ml.so.1";
  const Json facts = Probe();
  EXPECT_EQ(facts["libcuda"]["found"], false);
  EXPECT_NE(facts["libcuda"]["error"].get<std::string>().find("/nowhere"), std::string::npos);
  EXPECT_EQ(facts["cuda"]["init_result"], nullptr);
  EXPECT_EQ(facts["cuda"]["devices"], Json::array());
  EXPECT_EQ(facts["nvml"]["found"], false);
  EXPECT_EQ(facts["kernel_module_version"], nullptr);
  EXPECT_EQ(facts["counters_restricted"], nullptr);
  EXPECT_EQ(facts["container"], nullptr);
  EXPECT_EQ(facts["cupti"]["found"], false);
  EXPECT_EQ(facts["cupti_holder"]["is_held"], nullptr);
  EXPECT_EQ(facts["container_capability_missing"], false);
  EXPECT_EQ(facts["crashed_steps"], Json::array());
}

TEST_F(ProbeTest, NamesTheMissingContainerCapability) {
  Write("/dev/nvidia0", "");
  Write("/.dockerenv", "");
  options_.nvml_path = "/nowhere/libnvidia-ml.so.1";
  const Json facts = Probe();
  EXPECT_EQ(facts["container"], "docker");
  EXPECT_EQ(facts["container_capability_missing"], true);
}

TEST_F(ProbeTest, OutlivesACrashAndAHangOfTheDriver) {
  setenv("FAKE_CUDA", "crash", 1);
  Json facts = Probe();
  EXPECT_EQ(facts["crashed_steps"], Json({"cuda", "cupti"}));
  EXPECT_EQ(facts["libcuda"]["found"], nullptr);
  EXPECT_EQ(facts["nvml"]["found"], true);
  setenv("FAKE_CUDA", "hang", 1);
  options_.timeout_s = 1;
  facts = Probe();
  EXPECT_EQ(facts["crashed_steps"], Json({"cuda", "cupti"}));
  unsetenv("FAKE_CUDA");
}

TEST_F(ProbeTest, NamesTheDriversError) {
  setenv("FAKE_CUDA", "100", 1);
  const Json facts = Probe();
  unsetenv("FAKE_CUDA");
  EXPECT_EQ(facts["cuda"]["init_result"], 100);
  EXPECT_EQ(facts["cuda"]["init_error"], "CUDA_ERROR_NO_DEVICE");
  EXPECT_EQ(facts["cuda"]["device_count"], nullptr);
}

TEST_F(ProbeTest, TellsWhyARecorderDoesNotLoadOrIsNone) {
  Json facts = Probe();
  EXPECT_EQ(facts["recorder"]["path"], nullptr);
  EXPECT_EQ(facts["recorder"]["loads"], nullptr);
  options_.recorder = "/nowhere/libstallhound_record.so";
  facts = Probe();
  EXPECT_EQ(facts["recorder"]["loads"], false);
  EXPECT_NE(facts["recorder"]["error"].get<std::string>().find("No such file"), std::string::npos);
  options_.recorder = Runfile("record/probe/testdata/fake_recorder.so");
  facts = Probe();
  EXPECT_EQ(facts["recorder"]["loads"], true);
  EXPECT_EQ(facts["recorder"]["missing_symbols"], Json({"InitializeInjectionNvtx2"}));
}

TEST_F(ProbeTest, TellsVariablesContainersMpsAndWsl) {
  Write("/proc/version", "Linux version 5.15.90.1-microsoft-standard-WSL2\n");
  Write("/proc/1/cgroup", "0::/kubepods/besteffort/pod1\n");
  Write("/proc/77/comm", "nvidia-cuda-mps-server\n");
  setenv("CUDA_INJECTION64_PATH", "/opt/other/libtool.so", 1);
  setenv("CUDA_LAUNCH_BLOCKING", "1", 1);
  setenv("STALLHOUND_MODE", "light", 1);
  const Json facts = Probe();
  unsetenv("CUDA_LAUNCH_BLOCKING");
  EXPECT_EQ(facts["wsl"], true);
  EXPECT_EQ(facts["container"], "kubernetes");
  EXPECT_EQ(facts["mps"]["server_running"], true);
  EXPECT_EQ(facts["injection"]["CUDA_INJECTION64_PATH"], "/opt/other/libtool.so");
  EXPECT_EQ(facts["launch_blocking"], true);
  EXPECT_EQ(facts["stallhound_variables"]["STALLHOUND_MODE"], "light");
}

TEST(ProbeBinaryTest, PrintsOneLineOfJsonOnThisMachine) {
  FILE* pipe = popen((Runfile("record/probe/stallhound_probe") + " --recorder /nowhere").c_str(), "r");
  ASSERT_NE(pipe, nullptr);
  std::string output;
  char buffer[4096];
  while (size_t bytes = fread(buffer, 1, sizeof(buffer), pipe)) output.append(buffer, bytes);
  EXPECT_EQ(pclose(pipe), 0);
  EXPECT_EQ(output.find('\n'), output.size() - 1);
  EXPECT_EQ(Json::parse(output)["probe_version"], 1);
}

TEST(JsonTextTest, EscapesWhateverItIsGiven) {
  std::string text;
  JsonText json(text);
  json.BeginArray();
  json.Text(std::string_view("a\"\\\n\x01\xff\xc3\xa9\xe4\xb8"));
  json.EndArray();
  EXPECT_EQ(Json::parse(text)[0], "a\"\\\n\x01\ufffd\u00e9\ufffd\ufffd");
}

TEST(IsolatedTest, TellsHowAStepEnded) {
  const auto fine = RunIsolated([](const void*) { return std::string(100000, 'x'); }, nullptr, 5);
  EXPECT_EQ(fine.end, IsolatedEnd::kFine);
  EXPECT_EQ(fine.text.size(), 100000u);
  const auto crashed = RunIsolated([](const void*) -> std::string { abort(); }, nullptr, 5);
  EXPECT_EQ(crashed.end, IsolatedEnd::kCrashed);
}

}  // namespace
}  // namespace stallhound::record
