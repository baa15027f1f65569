#include "store/comparability.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace stallhound::store {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(Comparability, TheKeyHoldsWhatCountsDependOn) {
  Hardware hardware;
  hardware.gpu_name = "NVIDIA H200";
  Environment environment;
  environment.switches["OMP_NUM_THREADS"] = "1\n2";
  const std::string key = ComparabilityKey(hardware, environment);
  EXPECT_EQ(key,
            "gpu_name=NVIDIA H200\nsm_count=?\nmig_profile=?\ndriver=?\ncuda_runtime=?\nlibtorch=?\ncudnn=?\ncublas=?\n"
            "build_flags=?\nenv.OMP_NUM_THREADS=1\\n2\n");
  hardware.vbios = "96.00";
  hardware.power_limit_mw = 350'000;
  environment.host_kernel = "6.8";
  EXPECT_EQ(ComparabilityKey(hardware, environment), key) << "counts do not depend on these";
  hardware.sm_count = 132;
  EXPECT_NE(ComparabilityKey(hardware, environment), key);
}

TEST(Comparability, SlicesOfDifferentSizeAreOfDifferentSeries) {
  EXPECT_NE(ComparabilityKey({.mig_profile = "1g.18gb"}, {}), ComparabilityKey({.mig_profile = "3g.71gb"}, {}));
}

TEST(Comparability, AVersionOfLibTorchIsOneFieldAndItsBuildAnother) {
  const std::string key = ComparabilityKey({}, {.libtorch = "2.11.0+cu130"});
  EXPECT_THAT(key, HasSubstr("libtorch=2.11.0\n"));
  EXPECT_THAT(key, HasSubstr("libtorch_build=cu130\n"));
  const std::string without_build = ComparabilityKey({}, {.libtorch = "2.11.0"});
  EXPECT_THAT(without_build, HasSubstr("libtorch=2.11.0\n"));
  EXPECT_THAT(without_build, Not(HasSubstr("libtorch_build")));
}

TEST(Comparability, WithoutAGpuWhatIsTheGpusIsKnownNotToBeAndTheSoftwareStaysUnknown) {
  const Environment environment = {.libtorch = "2.11.0"};
  const std::string key = ComparabilityKey({.gpu_count = 0}, environment);
  EXPECT_THAT(key, HasSubstr("gpu_name=none\nsm_count=none\n"));
  EXPECT_THAT(key, HasSubstr("driver=?\ncuda_runtime=?\n")) << "its libraries may be loaded all the same";
  EXPECT_THAT(key, HasSubstr("libtorch=2.11.0\n"));
  EXPECT_THAT(key, HasSubstr("build_flags=?\n")) << "that is not a GPU's";
  EXPECT_NE(key, ComparabilityKey({}, environment)) << "whether there is one is unknown";
  std::map<std::string, std::optional<std::string>> values;
  for (const ComparableField& field : ComparableFields({.gpu_name = "NVIDIA H200", .gpu_count = 0}, {})) {
    values[field.name] = field.value;
  }
  EXPECT_EQ(values.at("gpu_name"), "NVIDIA H200") << "what is known stays";
  EXPECT_EQ(values.at("power_limit_mw"), "none");
  EXPECT_EQ(values.at("cpu_model"), std::nullopt);
}

}  // namespace
}  // namespace stallhound::store
