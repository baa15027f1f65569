// The suite of stallhound.toml as it ran on an NVIDIA H200 (2026-11-30; ci/device/steps/suite.sh and planted.sh): a
// baseline, the same program again, and the program with a forgotten item() in one case.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "base/testing/golden.h"
#include "base/testing/subprocess.h"
#include "base/testing/temp_dir.h"
#include "cli/testing/run_stallhound.h"

namespace stallhound::cli {
namespace {

using stallhound::testing::DataPath;
using stallhound::testing::RunSubprocess;
using stallhound::testing::SubprocessResult;
using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kSameProgram[] = "6768e867";
constexpr char kExtraItem[] = "7219eeec";
constexpr char kChangedCase[] = "layer_norm/optimized/fp32/1200000x512/forward";

class RecordedSuiteTest : public ::testing::Test {
 protected:
  RecordedSuiteTest() { Unpack("history.db.zst", home_ + "/history.db"); }

  std::string Unpack(const std::string& name, const std::string& path) {
    std::filesystem::create_directories(home_);
    EXPECT_TRUE(stallhound::testing::Unpack(DataPath("cli/testdata/suite/" + name), path)) << name;
    return path;
  }

  SubprocessResult Run(const std::vector<std::string>& arguments) {
    return RunSubprocess(StallhoundOptions(home_, arguments));
  }

  stallhound::testing::TempDir folder_;
  std::string home_ = folder_.File("home");
};

TEST_F(RecordedSuiteTest, TheSameProgramPasses) {
  const SubprocessResult gate = Run({"gate", kSameProgram});
  EXPECT_EQ(gate.exit_code, 0) << gate.err;
  EXPECT_THAT(gate.out, AllOf(HasSubstr("Cases: 87."), Not(HasSubstr("regressed"))));
}

TEST_F(RecordedSuiteTest, AForgottenItemIsNamedWithCaseCountAndLine) {
  const SubprocessResult gate = Run({"gate", kExtraItem});
  EXPECT_EQ(gate.exit_code, 1) << gate.err;
  EXPECT_THAT(gate.out, HasSubstr("Verdicts: 2 regressed"));
  const SubprocessResult json = Run({"gate", kExtraItem, "--format", "json"});
  EXPECT_EQ(json.exit_code, 1) << json.err;
  EXPECT_THAT(json.out, HasSubstr(kChangedCase));
  EXPECT_THAT(json.out, ContainsRegex("\"file\": \"bench/testing/extra_item.cc\",\n *\"line\": 13,"));
}

TEST_F(RecordedSuiteTest, OneStatementAnswersTheCountsOfEachBenchmark) {
  const SubprocessResult query = Run(
      {"query", "--format", "csv",
       "SELECT benchmark, kernel_count, wait_count, host_to_device_bytes FROM v_benchmark_count WHERE is_last_run"});
  EXPECT_EQ(query.exit_code, 0) << query.err;
  EXPECT_THAT(query.out, HasSubstr(std::string(kChangedCase) + ",1,1,0\n"));
  EXPECT_THAT(query.out, HasSubstr("layer_norm/reference/fp32/200000x512/forward,10,0,0\n"));
  EXPECT_THAT(query.out, HasSubstr("radius_search/optimized/fp32/100000x10000_r0.05_k32/forward,7,0,0\n"));
  EXPECT_THAT(query.out, HasSubstr("radius_search/hash_grid/fp32/100000x10000_r0.05_k32/forward,12,1,0\n"));
}

TEST_F(RecordedSuiteTest, TheRecordingOfTheSuiteIsACaptureLikeAnyOther) {
  const std::string capture = Unpack("extra_item.stallhound.zst", folder_.File("extra_item.stallhound"));
  const SubprocessResult hunt = Run({"hunt", "--range", kChangedCase, "--from", capture});
  EXPECT_EQ(hunt.exit_code, 0) << hunt.err;
  EXPECT_THAT(hunt.out, HasSubstr("bench/testing/extra_item.cc:13"));
  EXPECT_THAT(hunt.out, HasSubstr("operator: aten::_local_scalar_dense"));
}

}  // namespace
}  // namespace stallhound::cli
