// hunt --kineto: NVTX ranges of our own recording (process 468, steps at 0.36 to 3.70 ms, 3.70 to 7.01 ms, ...), calls
// and GPU work of a torch.profiler trace that covers the second step.

#include <fmt/format.h>
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

constexpr char kEpochNs[] = "1796030012002285197";  // of the recording
constexpr char kEvent[] = R"({{"ph":"X","cat":"{}","name":"{}","pid":{},"tid":{},"ts":{},"dur":{},"args":{{{}}}}})";

class KinetoTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(stallhound::testing::Unpack(DataPath("examples/recorded/nvtx-operators.spool.zst"), spool_));
  }
  // A launch, a wait for it, and a launch 1 ms after the first kernel's end. Times are us since the recording began.
  std::string Trace(int pid) {
    const auto call = [&](const char* name, int start_us, int duration_us, int correlation) {
      return fmt::format(kEvent, "cuda_runtime", name, pid, pid, start_us, duration_us,
                         fmt::format("\"correlation\":{}", correlation));
    };
    const auto kernel = [&](int start_us, int duration_us, int correlation) {
      return fmt::format(kEvent, "kernel", "gemm", 0, 7, start_us, duration_us,
                         fmt::format(R"("device":0,"context":1,"stream":7,"correlation":{})", correlation));
    };
    const std::string events =
        fmt::format("{},{},{},{},{},{},{}", fmt::format(kEvent, "cpu_op", "aten::first", pid, pid, 3600, 10, ""),
                    call("cudaLaunchKernel", 4000, 6, 1), kernel(4010, 1000, 1),
                    call("cudaStreamSynchronize", 4020, 995, 2), call("cudaLaunchKernel", 6000, 6, 3),
                    kernel(6010, 10, 3), fmt::format(kEvent, "cpu_op", "aten::last", pid, pid, 7500, 10, ""));
    return folder_.Write(
        "trace.json",
        fmt::format(R"({{"schemaVersion":1,"baseTimeNanoseconds":{},"traceEvents":[{}]}})", kEpochNs, events));
  }
  SubprocessResult Hunt(const std::vector<std::string>& options) {
    std::vector<std::string> arguments = {"hunt"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    return RunSubprocess(StallhoundOptions(folder_.File("home"), arguments));
  }

  stallhound::testing::TempDir folder_;
  std::string spool_ = folder_.File("recording.spool");
};

TEST_F(KinetoTest, OurStepOwnsTheTracesWait) {
  const SubprocessResult result =
      Hunt({"--from", spool_, "--kineto", Trace(468), "--range", "step", "--format", "json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const nlohmann::json report = nlohmann::json::parse(result.out);
  EXPECT_EQ(report["occurrence_count"], 1) << "the steps before and behind the trace are unknown, not zero";
  EXPECT_EQ(report["sync_point_count"], 1);
  ASSERT_EQ(report["sites"].size(), 1u);
  EXPECT_EQ(report["sites"][0]["cost"]["blocked_ns"], 990'000);
  EXPECT_EQ(report["sites"][0]["cost"]["idle_ns"], 1'000'000);
  EXPECT_EQ(report["capture"]["format"], "spool+kineto");
  EXPECT_EQ(report["processes"].size(), 1u);
  EXPECT_TRUE(report["recorder"].is_null());
  EXPECT_THAT(report["notes"].dump(), HasSubstr("outside of that time they are unknown"));
}

TEST_F(KinetoTest, TheJoinIsKeptAsACapture) {
  ASSERT_EQ(Hunt({"--from", spool_, "--kineto", Trace(468), "--output", folder_.File("report")}).exit_code, 0);
  const SubprocessResult query = RunSubprocess(StallhoundOptions(
      folder_.File("home"),
      {"query", "--format", "csv", "SELECT api, count(*) FROM v_host_call GROUP BY api ORDER BY api"}));
  EXPECT_EQ(query.out, "api,count(*)\ncudaLaunchKernel,2\ncudaStreamSynchronize,1\n") << query.err;
  const SubprocessResult without = Hunt({"--from", spool_, "--output", folder_.File("report")});
  EXPECT_EQ(without.exit_code, 0) << without.err;
  EXPECT_THAT(without.err, HasSubstr("stays as it is (of the new one: lacks tables"));
}

TEST_F(KinetoTest, TheTraceOfAnotherProcessIsRefused) {
  const SubprocessResult result = Hunt({"--from", spool_, "--kineto", Trace(469)});
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_THAT(result.err, HasSubstr("the trace is of process 469, the recording of 468"));
}

TEST_F(KinetoTest, ACaptureIsNoSpool) {
  const std::string trace = Trace(468);
  const SubprocessResult result = Hunt({"--from", trace, "--kineto", trace});
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_THAT(result.err, HasSubstr("--kineto goes with --from SPOOLS or a program"));
}

}  // namespace
}  // namespace stallhound::cli
