#include "capture/import/results/nvbench.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stallhound::capture {
namespace {

constexpr char kFile[] = R"({"meta": {"argv": ["/home/jane/bench"], "version": {"json": {"string": "1.0.0"},
  "nvbench": {"string": "0.1.0"}}},
 "devices": [{"id": 1, "name": "GPU", "sm_version": 750, "number_of_sms": 40, "global_memory_size": 1000}],
 "benchmarks": [{"name": "copy", "states": [
  {"name": "Device=1 T=I32", "device": 1, "is_skipped": false, "summaries": [
    {"tag": "nv/cold/sample_size", "hint": "sample_size", "data": [{"name": "value", "type": "int64", "value": "499"}]},
    {"tag": "nv/cold/time/gpu/mean", "hint": "duration", "data": [{"name": "value", "type": "float64", "value": "0.001"}]},
    {"tag": "nv/cold/bw/global/utilization", "hint": "percentage", "data": [{"name": "value", "type": "float64", "value": "inf"}]},
    {"tag": "nv/json/bin", "data": [{"name": "filename", "type": "string", "value": "/home/jane/0.bin"},
                                    {"name": "size", "type": "int64", "value": 17}]}]},
  {"name": "Device=1 T=I64", "device": 1, "is_skipped": true, "skip_reason": "too large", "summaries": null}]}]})";

TEST(NvbenchTest, ReadsStatesAndTheirSummaries) {
  const auto parsed = ParseNvbench(kFile);
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  const Results& results = **parsed;
  ASSERT_EQ(results.benchmark_point.size(), 5u);
  const BenchmarkPointRow& mean = results.benchmark_point[1];
  EXPECT_EQ(results.strings.Get(mean.benchmark), "copy/Device=1 T=I32");
  EXPECT_EQ(results.strings.Get(mean.metric), "nv/cold/time/gpu/mean");
  EXPECT_DOUBLE_EQ(*mean.value, 1e6);
  EXPECT_EQ(results.strings.Get(*mean.unit), "ns");
  EXPECT_EQ(results.strings.Get(*mean.aggregate), "mean");
  EXPECT_EQ(mean.device_id, 1u);
  EXPECT_EQ(results.benchmark_point[0].value, 499);
  EXPECT_FALSE(results.benchmark_point[2].value.has_value()) << "infinity is no number";
  EXPECT_EQ(results.strings.Get(results.benchmark_point[3].metric), "nv/json/bin/size");
  EXPECT_EQ(results.strings.Get(*results.benchmark_point[4].error), "too large");
  ASSERT_EQ(results.device.size(), 1u);
  EXPECT_EQ(results.device[0].compute_minor, 5);
  EXPECT_EQ(results.info.format_version, "1.0.0");
}

TEST(NvbenchTest, CountsBenchmarksAndStates) {
  const auto parsed = ParseNvbench(kFile);
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_THAT(
      (*parsed)->counts.numbers,
      ::testing::ElementsAre(::testing::Pair("benchmarks", 1), ::testing::Pair("states", 2),
                             ::testing::Pair("skipped", 1), ::testing::Pair("invalid", 1), ::testing::Pair("gpus", 1)));
}

TEST(NvbenchTest, RefusesOtherJson) {
  EXPECT_EQ(ParseNvbench("{}").status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(ParseNvbench("[1, 2").status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(ParseNvbench(R"({"benchmarks": [1, {"states": [null, {"summaries": [{"data": [[]]}]}]}]})").ok());
}

}  // namespace
}  // namespace stallhound::capture
