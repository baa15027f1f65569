#include "capture/import/results/csv.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stallhound::capture {
namespace {

using ::testing::ElementsAre;

std::vector<std::vector<std::string>> All(std::string_view text, bool* is_cut = nullptr) {
  CsvReader reader(text);
  std::vector<std::vector<std::string>> records;
  std::vector<std::string> fields;
  while (reader.Next(fields)) records.push_back(fields);
  if (is_cut != nullptr) *is_cut = reader.is_cut();
  return records;
}

TEST(CsvTest, ReadsQuotedFields) {
  EXPECT_THAT(All("a,\"b,\"\"c\"\"\",d\r\n1,,\"x\ny\"\n"),
              ElementsAre(ElementsAre("a", "b,\"c\"", "d"), ElementsAre("1", "", "x\ny")));
}

TEST(CsvTest, ATextWithoutLastLineEndIsWhole) {
  bool is_cut = true;
  EXPECT_THAT(All("a,b", &is_cut), ElementsAre(ElementsAre("a", "b")));
  EXPECT_FALSE(is_cut);
}

TEST(CsvTest, AQuoteThatNeverEndsIsACut) {
  bool is_cut = false;
  EXPECT_THAT(All("a,\"b\nc", &is_cut), ElementsAre(ElementsAre("a", "b\nc")));
  EXPECT_TRUE(is_cut);
}

TEST(CsvTest, EmptyTextHasNoRecord) { EXPECT_TRUE(All("").empty()); }

}  // namespace
}  // namespace stallhound::capture
