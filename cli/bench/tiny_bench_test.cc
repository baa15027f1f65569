// The real bench and the real recorder, with pairs that are right or wrong. Without a GPU its times are the CPU's and
// its counts unknown.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include "analysis/cases/cases.h"
#include "base/testing/golden.h"
#include "base/testing/temp_dir.h"
#include "capture/file/capture_file.h"
#include "cli/bench/measure.h"
#include "cli/testing/captured_console.h"

namespace stallhound::cli {
namespace {

using store::BenchmarkResult;

TEST(TinyBenchTest, IsMeasuredAndRecorded) {
  const stallhound::testing::TempDir folder;
  setenv("STALLHOUND_RECORDER", stallhound::testing::DataPath("record/libstallhound_record.so").c_str(), 1);
  MeasureRequest request;
  request.bench.binary = stallhound::testing::DataPath("bench/testing/tiny_bench");
  request.bench.filter = "^(right|wrong)/optimized/.*/forward";
  request.bench.rounds = 2;
  request.bench.record_iterations = 15;
  request.bench.min_time_ns = 1'000'000;
  request.home = folder.File("home");
  CapturedConsole console;
  const absl::StatusOr<store::RunRecord> run = MeasureRun(request, console.console());
  ASSERT_TRUE(run.ok()) << run.status();
  EXPECT_EQ(console.err(), "");
  ASSERT_EQ(run->benchmarks.size(), 2u);
  const BenchmarkResult& right = run->benchmarks[0];
  const BenchmarkResult& wrong = run->benchmarks[1];
  EXPECT_EQ(wrong.outcome, store::BenchmarkOutcome::kFailed);
  EXPECT_THAT(wrong.message.value_or(""), ::testing::HasSubstr("y is wrong"));
  EXPECT_EQ(right.outcome, store::BenchmarkOutcome::kMeasured);
  EXPECT_EQ(right.points.at(0).samples.size(), 2u);
  EXPECT_THAT(run->info.environment.libtorch.value_or(""), ::testing::StartsWith("2."));

  const std::string path = folder.File("home/" + run->info.captures.at(0).path);
  const auto capture = capture::OpenCaptureFile(path);
  ASSERT_TRUE(capture.ok()) << capture.status();
  const std::vector<std::string> ids = {right.name};
  const absl::StatusOr<analysis::CasesReport> cases = analysis::CountCases(**capture, ids);
  ASSERT_TRUE(cases.ok()) << cases.status();
  EXPECT_EQ(cases->cases[0].recorded_iteration_count, 15);
  if (run->info.hardware.gpu_count == 0) {
    EXPECT_EQ(right.iteration_count, std::nullopt);
    EXPECT_EQ(right.counts_complete, std::nullopt);
    EXPECT_TRUE(right.event_counts.empty());
  } else {
    EXPECT_FALSE(right.event_counts.empty());
  }
}

}  // namespace
}  // namespace stallhound::cli
