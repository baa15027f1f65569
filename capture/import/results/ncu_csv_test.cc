#include "capture/import/results/ncu_csv.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stallhound::capture {
namespace {

constexpr char kDetails[] =
    "==PROF== Connected to process 7 (/home/jane/app)\n\"unbalanced output of the program\n"
    R"csv("ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size","Grid Size","Device","CC","Section Name","Metric Name","Metric Unit","Metric Value","Rule Name"
"0","7","app","secret","add(float*, int)","1","7","(256, 1, 1)","(1024, 2, 1)","0","7.5","Speed Of Light","DRAM Frequency","hz","4,963,609,951.19",
"0","7","app","secret","add(float*, int)","1","7","(256, 1, 1)","(1024, 2, 1)","0","7.5","SpeedOfLight","","","","SOLBottleneck"
"1","7","app","secret","add(float*, int)","1","7","(256, 1, 1)","(1024, 2, 1)","0","7.5","Launch","Function Cache Configuration","","CachePreferNone",
"2","7","app","secret","mul","1","7","(64, 1, 1)","(1, 1, 1)","1","7.5","Launch","Threads","thread","64",
)csv";

TEST(NcuCsvTest, ReadsTheDetailsPage) {
  const auto parsed = ParseNcuCsv(kDetails);
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  const Results& results = **parsed;
  ASSERT_EQ(results.kernel_metric.size(), 3u);
  EXPECT_DOUBLE_EQ(*results.kernel_metric[0].value, 4963609951.19);
  EXPECT_EQ(results.strings.Get(*results.kernel_metric[0].unit), "hz");
  EXPECT_EQ(results.strings.Get(*results.kernel_metric[0].section), "Speed Of Light");
  EXPECT_FALSE(results.kernel_metric[1].value.has_value());
  EXPECT_EQ(results.strings.Get(*results.kernel_metric[1].text), "CachePreferNone");
  EXPECT_EQ(results.kernel_metric[1].launch_index, 1);
  EXPECT_EQ(results.kernel_metric[1].kernel_shape_id, results.kernel_metric[0].kernel_shape_id);
  EXPECT_EQ(results.kernel_metric[2].device_id, 1u);
  ASSERT_EQ(results.kernel_shape.size(), 2u);
  EXPECT_EQ(results.strings.Get(results.kernel_shape[0].name), "add(float*, int)");
  EXPECT_EQ(results.kernel_shape[0].grid_y, 2);
  EXPECT_EQ(results.kernel_shape[0].block_x, 256);
  EXPECT_THAT(results.counts.numbers,
              ::testing::ElementsAre(::testing::Pair("profiled_launches", 3), ::testing::Pair("kernel_shapes", 2),
                                     ::testing::Pair("metrics", 3), ::testing::Pair("rules", 1)));
  for (size_t i = 0; i < results.strings.size(); ++i) {
    EXPECT_NE(results.strings.Get(static_cast<StringId>(i)), "secret");
  }
}

TEST(NcuCsvTest, ReadsTheRawPage) {
  const auto parsed = ParseNcuCsv(
      "\"ID\",\"Kernel Name\",\"Block Size\",\"Grid Size\",\"Device\",\"dram__bytes.sum\",\"sm__cycles.avg\"\n"
      "\"\",\"\",\"\",\"\",\"\",\"byte\",\"cycle\"\n"
      "\"0\",\"k\",\"(32, 1, 1)\",\"(8, 1, 1)\",\"0\",\"1,024\",\"77.5\"\n");
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  const Results& results = **parsed;
  ASSERT_EQ(results.kernel_metric.size(), 2u);
  EXPECT_EQ(results.strings.Get(results.kernel_metric[0].metric), "dram__bytes.sum");
  EXPECT_EQ(results.kernel_metric[0].value, 1024);
  EXPECT_EQ(results.strings.Get(*results.kernel_metric[0].unit), "byte");
  EXPECT_EQ(results.kernel_metric[1].value, 77.5);
}

TEST(NcuCsvTest, RefusesOtherTablesAndCutOnes) {
  EXPECT_EQ(ParseNcuCsv("a,b\n1,2\n").status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(ParseNcuCsv("").status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(ParseNcuCsv("\"ID\",\"Kernel Name\"\n\"0\",\"add").status().code(), absl::StatusCode::kDataLoss);
}

}  // namespace
}  // namespace stallhound::capture
