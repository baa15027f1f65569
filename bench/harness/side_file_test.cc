#include "bench/harness/side_file.h"

#include <gtest/gtest.h>

#include "base/testing/temp_dir.h"

namespace stallhound::bench {
namespace {

TEST(SideFileTest, WritesALineForEachCase) {
  const stallhound::testing::TempDir folder;
  const std::string path = folder.File("samples.jsonl");
  auto file = SideFile::Create(path);
  ASSERT_TRUE(file.ok()) << file.status();
  CaseResult result;
  result.checked_shape = "10x3";
  result.input_set_count = 4;
  result.is_stable = true;
  result.samples = {{.time_ns = 100, .host_ns = 40, .sm_clock_hz = 1'980'000'000, .copy_ns = 80},
                    {.time_ns = 9'007'199'254'740'993, .host_ns = 41}};
  result.copy_method = "copy kernel";
  result.graph_problem = "the variant waits for the device";
  result.throttle_reasons = 0b100;
  ASSERT_TRUE(file->Add("a/b/fp32/20x3/forward", result).ok());
  ASSERT_TRUE(file->AddError("c/d/fp32/20x3/forward", absl::DataLossError("y is \"wrong\"")).ok());
  EXPECT_FALSE(ReadFile(path).ok()) << "nobody sees half of it";
  ASSERT_TRUE(file->Finish().ok());
  EXPECT_EQ(ReadFile(path).value(),
            R"({"id":"a/b/fp32/20x3/forward","error":null,"checked_shape":"10x3","input_set_count":4,)"
            R"("is_stable":true,"throttle_reasons":["sw-power-cap"],"time_ns":[100,9007199254740993],)"
            R"("host_ns":[40,41],"sm_clock_hz":[1980000000,null],"copy_method":"copy kernel","copy_problem":null,)"
            R"("copy_ns":[80,null],"graph_problem":"the variant waits for the device","graph_time_ns":[]})"
            "\n"
            R"({"id":"c/d/fp32/20x3/forward","error":"y is \"wrong\""})"
            "\n");
}

TEST(SideFileTest, UnknownThrottlingIsNull) {
  const stallhound::testing::TempDir folder;
  auto file = SideFile::Create(folder.File("s"));
  ASSERT_TRUE(file.ok());
  ASSERT_TRUE(file->Add("id", CaseResult()).ok());
  ASSERT_TRUE(file->Finish().ok());
  EXPECT_NE(ReadFile(folder.File("s")).value().find(R"("throttle_reasons":null)"), std::string::npos);
}

TEST(ThrottleWordsTest, NamesWhatIsActive) {
  EXPECT_TRUE(ThrottleWords(0).empty());
  EXPECT_EQ(ThrottleWords(0b1).size(), 1U);
  EXPECT_EQ(ThrottleWords(0b100), std::vector<std::string>{"sw-power-cap"});
}

}  // namespace
}  // namespace stallhound::bench
