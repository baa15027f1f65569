// --steps and --skip of hunt and counts, on a recording of an H200: 25 steps of two waits each, the first a warm-up
// with 35 loads and allocations.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/testing/subprocess.h"
#include "base/testing/temp_dir.h"
#include "cli/testing/run_stallhound.h"

namespace stallhound::cli {
namespace {

using stallhound::testing::DataPath;
using stallhound::testing::RunSubprocess;
using stallhound::testing::SubprocessResult;
using ::testing::HasSubstr;
using Arguments = std::vector<std::string>;

class StepsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(stallhound::testing::Unpack(DataPath("examples/recorded/libtorch.spool.zst"), spool_));
  }
  SubprocessResult Hunt(const Arguments& options) {
    Arguments arguments = {"hunt", "--format", "json", "--from", spool_};
    arguments.insert(arguments.end(), options.begin(), options.end());
    return RunSubprocess(StallhoundOptions(folder_.File("home"), arguments));
  }
  SubprocessResult Counts(const Arguments& options) {
    Arguments arguments = {"counts", "--format", "json", spool_};
    arguments.insert(arguments.end(), options.begin(), options.end());
    return RunSubprocess(StallhoundOptions(folder_.File("home"), arguments));
  }

  stallhound::testing::TempDir folder_;
  std::string spool_ = folder_.File("recording.spool");
};

TEST_F(StepsTest, WhatIsMeasuredIsWhatWasAskedFor) {
  struct Case {
    Arguments options;
    int64_t step_count;
    int64_t sync_point_count;
  };
  for (const Case& expected : std::vector<Case>{{{"--steps", "auto"}, 24, 48},
                                                {{"--skip", "3"}, 22, 44},
                                                {{"--steps", "auto", "--skip", "0"}, 25, 85},
                                                {{"--steps", "2-4"}, 3, 6},
                                                {{"--steps", "1-1"}, 1, 37}}) {
    const std::string name = ::testing::PrintToString(expected.options);
    const SubprocessResult hunt = Hunt(expected.options);
    ASSERT_EQ(hunt.exit_code, 0) << name << hunt.err;
    const nlohmann::json report = nlohmann::json::parse(hunt.out);
    EXPECT_EQ(report["steps"]["range"], "step") << name;
    EXPECT_EQ(report["steps"]["found_count"], 25) << name;
    EXPECT_EQ(report["steps"]["measured_count"], expected.step_count) << name;
    EXPECT_EQ(report["occurrence_count"], expected.step_count) << name;
    EXPECT_EQ(report["sync_point_count"], expected.sync_point_count) << name;

    const SubprocessResult counted = Counts(expected.options);
    ASSERT_EQ(counted.exit_code, 0) << name << counted.err;
    const nlohmann::json counts = nlohmann::json::parse(counted.out);
    EXPECT_EQ(counts["steps"]["measured_count"], expected.step_count) << name;
    ASSERT_EQ(counts["spans"].size(), static_cast<size_t>(expected.step_count)) << name;
    for (const nlohmann::json& span : counts["spans"]) EXPECT_EQ(span["sync_points"]["wait"], 2) << name;
  }
}

TEST_F(StepsTest, NoneIsTheWholeRecording) {
  for (const Arguments& options : {Arguments{"--steps", "none"}, Arguments{}}) {
    const nlohmann::json report = nlohmann::json::parse(Hunt(options).out);
    EXPECT_TRUE(report["steps"].is_null());
    EXPECT_EQ(report["occurrence_count"], 1);
    EXPECT_EQ(report["sync_point_count"], 91);
    const nlohmann::json counts = nlohmann::json::parse(Counts(options).out);
    EXPECT_TRUE(counts["steps"].is_null());
    EXPECT_EQ(counts["spans"].size(), 1u);
  }
}

TEST_F(StepsTest, ASelectionThatContradictsItselfIsUsage) {
  for (const Arguments& options :
       {Arguments{"--steps", "2-4", "--skip", "1"}, Arguments{"--steps", "none", "--skip", "1"},
        Arguments{"--steps", "auto", "--range", "step"}, Arguments{"--steps", "4-2"}, Arguments{"--steps", "0-2"},
        Arguments{"--steps", "all"}, Arguments{"--skip", "-1"}}) {
    EXPECT_EQ(Hunt(options).exit_code, 2) << ::testing::PrintToString(options);
    EXPECT_EQ(Counts(options).exit_code, 2) << ::testing::PrintToString(options);
  }
}

TEST_F(StepsTest, MoreThanThereAreIsSaid) {
  for (const Arguments& options : {Arguments{"--skip", "25"}, Arguments{"--steps", "26-30"}}) {
    const SubprocessResult hunt = Hunt(options);
    EXPECT_EQ(hunt.exit_code, 3);
    EXPECT_THAT(hunt.err, HasSubstr("the recording has 25 steps"));
    EXPECT_EQ(Counts(options).exit_code, 3);
  }
}

}  // namespace
}  // namespace stallhound::cli
