#include "cli/recording_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include "cli/exit_code.h"

namespace stallhound::cli {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pair;

class RecordingOptionsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    unsetenv("CUDA_INJECTION64_PATH");
    unsetenv("NVTX_INJECTION64_PATH");
  }
  Variables Get() {
    const absl::StatusOr<Variables> variables = RecordingVariables(options_, "/r.so", "/spool");
    EXPECT_TRUE(variables.ok()) << variables.status();
    return variables.value_or(Variables());
  }
  int Failure() { return ExitCodeOf(RecordingVariables(options_, "/r.so", "/spool").status()); }

  RecordingOptions options_;
};

TEST_F(RecordingOptionsTest, OnlyWhatWasAskedForIsSet) {
  EXPECT_THAT(Get(), ElementsAre(Pair("CUDA_INJECTION64_PATH", "/r.so"), Pair("NVTX_INJECTION64_PATH", "/r.so"),
                                 Pair("STALLHOUND_SPOOL_DIR", "/spool"), Pair("STALLHOUND_MODE", "default")));
}

TEST_F(RecordingOptionsTest, NumbersBecomeNsAndBytes) {
  options_.mode = "light";
  options_.max_spool = "64MiB";
  options_.last = "2s";
  options_.delay = "0";
  options_.duration = "1.5ms";
  options_.window_range = "step";
  options_.window_steps = "10-20";
  options_.window_api = options_.yield_to_profiler = options_.record_argv = true;
  const Variables variables = Get();
  for (const auto& expected : Variables{{"STALLHOUND_MODE", "light"},
                                        {"STALLHOUND_MAX_SPOOL_BYTES", "67108864"},
                                        {"STALLHOUND_LAST_NS", "2000000000"},
                                        {"STALLHOUND_DELAY_NS", "0"},
                                        {"STALLHOUND_DURATION_NS", "1500000"},
                                        {"STALLHOUND_WINDOW_RANGE", "step"},
                                        {"STALLHOUND_WINDOW_STEPS", "10-20"},
                                        {"STALLHOUND_WINDOW_API", "1"},
                                        {"STALLHOUND_YIELD_TO_PROFILER", "1"},
                                        {"STALLHOUND_RECORD_ARGV", "1"}}) {
    EXPECT_THAT(variables, Contains(expected));
  }
}

TEST_F(RecordingOptionsTest, BadValuesAreUsageErrors) {
  options_.delay = "20";
  EXPECT_EQ(Failure(), kExitUsage);
  options_ = {.max_spool = "10KiB"};
  EXPECT_EQ(Failure(), kExitUsage);
  options_ = {.max_spool = "much"};
  EXPECT_EQ(Failure(), kExitUsage);
  for (const char* steps : {"10", "0-3", "5-4", "a-b", "1-2-3", "-1-2"}) {
    options_ = {.window_range = "step", .window_steps = steps};
    EXPECT_EQ(Failure(), kExitUsage) << steps;
  }
  options_ = {.window_steps = "1-2"};
  EXPECT_EQ(Failure(), kExitUsage);
}

TEST_F(RecordingOptionsTest, ReplacesAnotherToolAndSaysSo) {
  setenv("CUDA_INJECTION64_PATH", "/other.so", 1);
  Variables variables = Get();
  EXPECT_THAT(ResolveInjectionConflicts(options_, variables), ElementsAre(HasSubstr("/other.so")));
  EXPECT_THAT(variables, Contains(Pair("CUDA_INJECTION64_PATH", "/r.so")));
}

TEST_F(RecordingOptionsTest, YieldingLeavesAnotherToolInPlace) {
  setenv("CUDA_INJECTION64_PATH", "/other.so", 1);
  options_.yield_to_profiler = true;
  Variables variables = Get();
  EXPECT_EQ(ResolveInjectionConflicts(options_, variables).size(), 1u);
  EXPECT_THAT(variables, Not(Contains(Pair("CUDA_INJECTION64_PATH", ::testing::_))));
  EXPECT_THAT(variables, Contains(Pair("NVTX_INJECTION64_PATH", "/r.so")));
}

TEST_F(RecordingOptionsTest, AnEnclosingHuntIsNoConflict) {
  setenv("CUDA_INJECTION64_PATH", "/elsewhere/libstallhound_record.so", 1);
  Variables variables = Get();
  EXPECT_TRUE(ResolveInjectionConflicts(options_, variables).empty());
}

}  // namespace
}  // namespace stallhound::cli
