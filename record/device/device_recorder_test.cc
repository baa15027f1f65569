#include "record/device/device_recorder.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "record/device/mapped_libraries.h"
#include "record/testing/spool_records.h"

namespace stallhound::record {
namespace {

using capture::spool::KeyValueRecord;
using capture::spool::RecordType;
using capture::spool::SpoolWriter;

std::string Runfile(const std::string& path) {
  return std::string(getenv("TEST_SRCDIR")) + "/" + getenv("TEST_WORKSPACE") + "/" + path;
}

std::map<std::string, std::string> KeyValues(const char* path) {
  const SpoolRecords spool(path);
  std::map<std::string, std::string> values;
  for (const auto* record : spool.Of<KeyValueRecord>(RecordType::kKeyValue)) {
    values[spool.Text(record->key)] = spool.Text(record->value);
  }
  return values;
}

class DeviceRecorderTest : public testing::Test {
 protected:
  DeviceRecorderTest() {
    directory_ =
        std::string(getenv("TEST_TMPDIR")) + "/" + testing::UnitTest::GetInstance()->current_test_info()->name();
    EXPECT_TRUE(writer_.Configure({.directory = directory_.c_str()}));
  }

  std::string directory_;
  SpoolWriter writer_;
};

TEST_F(DeviceRecorderTest, WritesGpuDriverHostAndListedVariables) {
  setenv("CUDA_LAUNCH_BLOCKING", "1", 1);
  setenv("SECRET_TOKEN", "hunter2", 1);
  const std::string nvml = Runfile("base/nvml/testdata/fake_nvml.so");
  DeviceRecorder recorder(writer_, nvml.c_str());
  recorder.RecordFingerprint();
  recorder.SampleThrottleReasons();
  recorder.RecordEnd();
  const auto values = KeyValues(writer_.path());
  EXPECT_EQ(values.at("driver.version"), "580.65.06");
  EXPECT_EQ(values.at("driver.cuda_version"), "13.0");
  EXPECT_EQ(values.at("gpu.count"), "1");
  EXPECT_EQ(values.at("gpu.0.name"), "NVIDIA Fake H200");
  EXPECT_EQ(values.at("gpu.0.compute_capability"), "9.0");
  EXPECT_EQ(values.at("gpu.0.sm_count"), "132");
  EXPECT_EQ(values.at("gpu.0.mig"), "0");
  EXPECT_EQ(values.at("gpu.0.virtualization"), "passthrough");
  EXPECT_EQ(values.at("gpu.0.throttle_reasons"), "gpu-idle,sw-power-cap");
  EXPECT_EQ(values.count("gpu.0.default_power_limit_mw"), 0u) << "unknown has no key";
  EXPECT_EQ(values.at("confidential_computing"), "1");
  EXPECT_EQ(values.at("env.CUDA_LAUNCH_BLOCKING"), "1");
  EXPECT_EQ(values.count("env.SECRET_TOKEN"), 0u);
  EXPECT_FALSE(values.at("host.arch").empty());
  EXPECT_FALSE(values.at("host.glibc").empty());
}

TEST_F(DeviceRecorderTest, SaysWhyThereAreNoGpus) {
  DeviceRecorder recorder(writer_, "/nowhere/libnvidia-ml.so.1");
  recorder.RecordFingerprint();
  recorder.SampleThrottleReasons();
  recorder.RecordEnd();
  const auto values = KeyValues(writer_.path());
  EXPECT_NE(values.at("nvml.error").find("/nowhere"), std::string::npos);
  EXPECT_EQ(values.count("gpu.count"), 0u);
  EXPECT_EQ(values.count("host.cpu_count"), 1u);
}

TEST(MappedLibrariesTest, AsksTheLibraryReadsTheFileNameOrTheVersionFile) {
  const std::filesystem::path folder = std::filesystem::path(getenv("TEST_TMPDIR")) / "torch/lib";
  std::filesystem::create_directories(folder);
  const auto map = [&](const std::string& name) {
    std::filesystem::copy_file(Runfile("record/device/testdata/versioned.so"), folder / name);
    EXPECT_NE(dlopen((folder / name).c_str(), RTLD_NOW | RTLD_LOCAL), nullptr) << dlerror();
  };
  map("libcudart.so.13.0.96");
  map("libcudnn.so.9");
  map("libtorch_cpu.so");
  map("libcudnn_graph.so.9");  // not cuDNN itself
  map("libcufft.so");          // says nothing
  std::ofstream(folder.parent_path() / "version.py") << "from typing import X\n__version__ = '2.11.0+cu130'\n";
  std::map<std::string, std::string> found;
  VisitMappedLibraries(
      [](void* context, const char* name, const char* version) {
        (*static_cast<std::map<std::string, std::string>*>(context))[name] = version;
      },
      &found);
  const std::map<std::string, std::string> expected = {
      {"cudart", "13.0.96"}, {"cudnn", "9.14.2"}, {"torch", "2.11.0+cu130"}};
  EXPECT_EQ(found, expected);
}

}  // namespace
}  // namespace stallhound::record
