#include "record/cupti/cupti_library.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "record/cupti/cupti_api.h"

namespace stallhound::record {
namespace {

class CuptiLibraryTest : public testing::Test {
 protected:
  void SetUp() override {
    char pattern[] = "/tmp/cupti_library_test.XXXXXX";
    root_ = std::filesystem::canonical(mkdtemp(pattern));
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  std::string Touch(const std::string& name) {
    const std::string path = root_ + "/" + name;
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::ofstream(path) << "x";
    return path;
  }
  std::vector<std::string> List(const std::string& cudart, const char* chosen, int driver_version) {
    MappedLibraries mapped{};
    strcpy(mapped.cudart, cudart.c_str());
    auto candidates = std::make_unique<CuptiCandidates>();
    ListCuptiCandidates(mapped, chosen, driver_version, root_.c_str(), *candidates);
    std::vector<std::string> paths;
    for (int i = 0; i < candidates->count; ++i) {
      paths.push_back(std::filesystem::weakly_canonical(candidates->paths[i]).string());
      if (strchr(candidates->paths[i], '/') == nullptr) paths.back() = candidates->paths[i];
    }
    return paths;
  }

  std::string root_;
};

TEST_F(CuptiLibraryTest, ChosenThenBesideCudartThenToolkit) {
  const std::string chosen = Touch("own/libcupti.so");
  const std::string cudart = Touch("site/nvidia/cuda_runtime/lib/libcudart.so.12");
  const std::string wheel = Touch("site/nvidia/cuda_cupti/lib/libcupti.so.12");
  const std::string toolkit = Touch("cuda-13.1/extras/CUPTI/lib64/libcupti.so.13");
  Touch("cuda-13.0/extras/CUPTI/lib64/libcupti.so.13");
  Touch("cuda-12.4/extras/CUPTI/lib64/libcupti.so.12");
  const std::vector<std::string> expected = {chosen, wheel, toolkit, "libcupti.so.13"};
  EXPECT_EQ(List(cudart, chosen.c_str(), 13010), expected);
}

TEST_F(CuptiLibraryTest, SameFolderAsCudart) {
  const std::string cudart = Touch("nvidia/cu13/lib/libcudart.so.13");
  const std::string cupti = Touch("nvidia/cu13/lib/libcupti.so.13");
  EXPECT_EQ(List(cudart, nullptr, 0), std::vector<std::string>{cupti});
}

TEST_F(CuptiLibraryTest, NothingKnownNothingTried) {
  EXPECT_TRUE(List("", nullptr, 0).empty());
  EXPECT_TRUE(List("", "", 0).empty());
  EXPECT_TRUE(List("", "/nonexistent/libcupti.so", 0).empty());
}

TEST_F(CuptiLibraryTest, NoCuptiIsMappedHere) {
  EXPECT_EQ(FindMappedLibraries().cupti_count, 0);
  EXPECT_FALSE(HasTwoCupti());
}

TEST(CuptiApiTest, NamesTheFirstMissingFunction) {
  CuptiApi api;
  EXPECT_STREQ(ResolveCupti(nullptr, api), "cuptiGetVersion");
}

}  // namespace
}  // namespace stallhound::record
