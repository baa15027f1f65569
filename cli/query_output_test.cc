#include "cli/query_output.h"

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <vector>

#include "cli/testing/captured_console.h"

namespace stallhound::cli {
namespace {

using capture::QueryValue;
using Kind = QueryValue::Kind;

QueryValue Integer(int64_t value) { return {.kind = Kind::kInteger, .integer = value}; }
QueryValue Real(double value) { return {.kind = Kind::kReal, .real = value}; }
QueryValue TextValue(std::string_view value) { return {.kind = Kind::kText, .text = value}; }
QueryValue Blob(std::string_view value) { return {.kind = Kind::kBlob, .text = value}; }

std::string Written(const std::string& format, const std::vector<std::string>& names,
                    const std::vector<std::vector<QueryValue>>& rows) {
  CapturedConsole captured;
  const std::unique_ptr<QueryOutput> output = MakeQueryOutput(format, captured.console());
  EXPECT_TRUE(output->OnColumns(names).ok());
  for (const auto& row : rows) EXPECT_TRUE(output->OnRow(row).ok());
  EXPECT_TRUE(output->Finish().ok());
  return captured.out();
}

TEST(QueryOutputTest, TableAlignsNumbersRightAndTextLeft) {
  EXPECT_EQ(Written("table", {"api", "calls"},
                    {{TextValue("cudaMalloc"), Integer(7)}, {TextValue("\xC3\xA9"), Integer(1234)}, {{}, Real(0.5)}}),
            "api         calls\n"
            "----------  -----\n"
            "cudaMalloc      7\n"
            "\xC3\xA9            1234\n"
            "              0.5\n");
  EXPECT_EQ(Written("table", {"a"}, {}), "a\n-\n");
}

TEST(QueryOutputTest, TableDoesNotObeyRecordedText) {
  EXPECT_EQ(Written("table", {"n"}, {{TextValue("a\nb\x1b[31m\xff")}}),
            "n\n---------\na b\xEF\xBF\xBD[31m\xEF\xBF\xBD\n");
}

TEST(QueryOutputTest, TableStreamsManyRows) {
  std::vector<std::vector<QueryValue>> rows(2500, {Integer(1)});
  const std::string text = Written("table", {"x"}, rows);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2502);
}

TEST(QueryOutputTest, CsvQuotesWhatItMust) {
  EXPECT_EQ(Written("csv", {"a", "b,c"}, {{TextValue("say \"hi\"\n"), {}}, {Integer(-1), Blob("hi")}}),
            "a,\"b,c\"\n\"say \"\"hi\"\"\n\",\n-1,x'6869'\n");
}

TEST(QueryOutputTest, JsonKeepsTypesAndNamesApart) {
  const std::string text =
      Written("json", {"a", "a", "b"},
              {{Integer(std::numeric_limits<int64_t>::max()), Real(0.1), {}}, {TextValue("\xff"), Blob("\x01"), {}}});
  const nlohmann::json rows = nlohmann::json::parse(text);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0]["a"].get<int64_t>(), std::numeric_limits<int64_t>::max());
  EXPECT_EQ(rows[0]["a_2"], 0.1);
  EXPECT_TRUE(rows[0]["b"].is_null());
  EXPECT_EQ(rows[1]["a_2"], "x'01'");
  EXPECT_EQ(nlohmann::json::parse(Written("json", {"a"}, {})), nlohmann::json::array());
}

}  // namespace
}  // namespace stallhound::cli
