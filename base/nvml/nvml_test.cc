#include "base/nvml/nvml.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

namespace stallhound {
namespace {

std::string Fake(const char* name) {
  return std::string(getenv("TEST_SRCDIR")) + "/" + getenv("TEST_WORKSPACE") + "/base/nvml/testdata/" + name;
}

TEST(NvmlTest, SaysWhyThereIsNone) {
  const Nvml nvml("/nowhere/libnvidia-ml.so.1");
  EXPECT_FALSE(nvml.is_loaded());
  EXPECT_FALSE(nvml.is_usable());
  EXPECT_NE(std::string(nvml.error()).find("/nowhere/libnvidia-ml.so.1"), std::string::npos) << nvml.error();
  EXPECT_EQ(nvml.System().device_count, std::nullopt);
  EXPECT_FALSE(nvml.Device(0).has_value());
}

TEST(NvmlTest, SaysWhyItDoesNotInitialise) {
  setenv("FAKE_NVML_INIT", "9", 1);
  const Nvml nvml(Fake("fake_nvml.so").c_str());
  unsetenv("FAKE_NVML_INIT");
  EXPECT_TRUE(nvml.is_loaded());
  EXPECT_FALSE(nvml.is_usable());
  EXPECT_STREQ(nvml.error(), "cannot initialise NVML: Driver Not Loaded");
  EXPECT_FALSE(nvml.Device(0).has_value());
}

TEST(NvmlTest, ReadsEverything) {
  const Nvml nvml(Fake("fake_nvml.so").c_str());
  ASSERT_TRUE(nvml.is_usable()) << nvml.error();
  const NvmlSystem system = nvml.System();
  EXPECT_STREQ(system.driver_version, "580.65.06");
  EXPECT_EQ(system.cuda_version, 13000);
  EXPECT_EQ(system.confidential, true);
  EXPECT_EQ(system.device_count, 1u);
  EXPECT_FALSE(nvml.Device(1).has_value());
  const auto device = nvml.Device(0);
  ASSERT_TRUE(device.has_value());
  EXPECT_STREQ(device->name, "NVIDIA Fake H200");
  EXPECT_EQ(device->memory_bytes, 150754820096ull);
  EXPECT_EQ(device->compute_major, 9);
  EXPECT_EQ(device->sm_count, 132);
  EXPECT_EQ(device->sm_clock_mhz, 345u);
  EXPECT_EQ(device->memory_clock_mhz, 3201u);
  EXPECT_EQ(device->max_sm_clock_mhz, 1980u);
  EXPECT_EQ(device->power_limit_mw, 700000u);
  EXPECT_EQ(device->default_power_limit_mw, std::nullopt) << "an error is unknown, not 0";
  EXPECT_EQ(device->ecc, true);
  EXPECT_EQ(device->mig, false) << "the current mode, not the pending one";
  EXPECT_EQ(device->persistence, true);
  EXPECT_EQ(device->throttle_reasons, 5u);
  EXPECT_EQ(device->virtualization, NvmlVirtualization::kPassthrough);
}

TEST(NvmlTest, WorksWithAnOldDriverThatKnowsLess) {
  const Nvml nvml(Fake("fake_nvml_old.so").c_str());
  ASSERT_TRUE(nvml.is_usable()) << nvml.error();
  EXPECT_EQ(nvml.System().cuda_version, std::nullopt);
  EXPECT_EQ(nvml.System().confidential, std::nullopt);
  const auto device = nvml.Device(0);
  ASSERT_TRUE(device.has_value());
  EXPECT_STREQ(device->name, "NVIDIA Fake H200");
  EXPECT_EQ(device->memory_bytes, std::nullopt);
  EXPECT_EQ(device->sm_count, std::nullopt);
  EXPECT_EQ(device->mig, std::nullopt);
  EXPECT_EQ(device->throttle_reasons, std::nullopt);
}

TEST(NvmlTest, NamesReasonsAndModes) {
  EXPECT_STREQ(NvmlThrottleReason(2), "sw-power-cap");
  EXPECT_EQ(NvmlThrottleReason(kNvmlThrottleBits), nullptr);
  EXPECT_EQ(NvmlThrottleReason(-1), nullptr);
  EXPECT_STREQ(NvmlVirtualizationName(NvmlVirtualization::kVgpu), "vgpu");
}

}  // namespace
}  // namespace stallhound
