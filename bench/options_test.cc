#include "bench/options.h"

#include <gtest/gtest.h>

#include <vector>

namespace stallhound::bench {
namespace {

class OptionsTest : public ::testing::Test {
 protected:
  absl::StatusOr<Options> Take(std::vector<std::string> arguments) {
    arguments_ = std::move(arguments);
    arguments_.insert(arguments_.begin(), "bench");
    argv_.clear();
    for (std::string& argument : arguments_) argv_.push_back(argument.data());
    argv_.push_back(nullptr);
    argc_ = static_cast<int>(arguments_.size());
    return TakeOptions(&argc_, argv_.data());
  }

  std::vector<std::string> Rest() const { return {argv_.data() + 1, argv_.data() + argc_}; }

  std::vector<std::string> arguments_;
  std::vector<char*> argv_;
  int argc_ = 0;
};

TEST_F(OptionsTest, TakesItsOwnAndLeavesTheRest) {
  const auto options = Take({"--benchmark_filter=x", "--stallhound_device=cpu", "--stallhound_samples=s.jsonl",
                             "--stallhound_record_iterations=20", "--stallhound_min_time=50ms",
                             "--stallhound_check=false", "--benchmark_list_tests"});
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_EQ(options->device, kernels::Device::kCpu);
  EXPECT_EQ(options->samples_path, "s.jsonl");
  EXPECT_EQ(options->record_iterations, 20);
  EXPECT_EQ(options->min_time_ns, 50'000'000);
  EXPECT_FALSE(options->check);
  EXPECT_EQ(Rest(), (std::vector<std::string>{"--benchmark_filter=x", "--benchmark_list_tests"}));
  EXPECT_EQ(argv_[argc_], nullptr);
}

TEST_F(OptionsTest, SamplesLieBesideTheResult) {
  EXPECT_EQ(Take({"--benchmark_out=r.json"})->samples_path, "r.json.samples.jsonl");
  EXPECT_EQ(Take({"--benchmark_out=r.json", "--stallhound_samples=s"})->samples_path, "s");
  EXPECT_EQ(Take({})->samples_path, std::nullopt);
  EXPECT_EQ(Take({})->device, std::nullopt);
  EXPECT_EQ(Take({})->record_iterations, std::nullopt);
  EXPECT_EQ(Take({})->min_time_ns, std::nullopt);
  EXPECT_TRUE(Take({})->check);
}

TEST_F(OptionsTest, RefusesWhatMakesNoSense) {
  for (const char* argument :
       {"--stallhound_device=gpu", "--stallhound_device", "--stallhound_samples=", "--stallhound_record_iterations=0",
        "--stallhound_record_iterations=1.5", "--stallhound_record_iterations", "--stallhound_nothing=1",
        "--stallhound_min_time=0", "--stallhound_min_time=50", "--stallhound_min_time", "--stallhound_check=no",
        "--stallhound_check"}) {
    const auto options = Take({argument});
    EXPECT_EQ(options.status().code(), absl::StatusCode::kInvalidArgument) << argument;
    EXPECT_NE(options.status().message().find(argument), std::string::npos) << options.status();
  }
}

}  // namespace
}  // namespace stallhound::bench
