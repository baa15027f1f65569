#include "capture/import/kineto/lenient_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace stallhound::capture {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

std::vector<std::pair<std::string, std::string>> Members(std::string_view text) {
  std::vector<std::pair<std::string, std::string>> members;
  ForEachMember(text, [&](std::string_view key, std::string_view value) { members.emplace_back(key, value); });
  return members;
}

TEST(ForEachMemberTest, TokensAsWritten) {
  EXPECT_THAT(Members(R"({"a": 1.50, "b": "x\"y", "c": {"d": [1, "}"]}, "e": N/A, "f": -inf })"),
              ElementsAre(Pair("a", "1.50"), Pair("b", R"("x\"y")"), Pair("c", R"({"d": [1, "}"]})"), Pair("e", "N/A"),
                          Pair("f", "-inf")));
}

TEST(ForEachMemberTest, BrokenQuotes) {
  EXPECT_THAT(Members(R"({"name":"C:\logs\","pid":1})"), ElementsAre(Pair("name", R"("C:\logs\")"), Pair("pid", "1")));
  EXPECT_THAT(Members(R"({"name":"say "hi" twice","pid":1})"),
              ElementsAre(Pair("name", R"("say "hi" twice")"), Pair("pid", "1")));
  EXPECT_THAT(Members(R"({"name":"C:\logs\"})"), ElementsAre(Pair("name", R"("C:\logs\")")));
}

TEST(ForEachMemberTest, JsonInsideAStringStaysText) {
  EXPECT_THAT(Members(R"({"name":"{\"a\":1,\"b\":\"c\"}","pid":1})"),
              ElementsAre(Pair("name", testing::_), Pair("pid", "1")));
}

TEST(ForEachMemberTest, AnyPrefixEnds) {
  const std::string text = R"({"a": [1, {"b": "c\"}"}], "d": "e", "f": NaN})";
  for (size_t size = 0; size <= text.size(); ++size) Members(text.substr(0, size));
  EXPECT_FALSE(ForEachMember("[1]", [](std::string_view, std::string_view) {}));
}

TEST(TolerantObjectSizeTest, SizeOfTheFirstObject) {
  EXPECT_EQ(TolerantObjectSize(R"({"a":{}} , {"b":1})"), 8u);
  EXPECT_EQ(TolerantObjectSize(R"({"a":"C:\"}, {"b":1})"), 11u);
  EXPECT_EQ(TolerantObjectSize(R"({"a":{})"), std::nullopt);
}

TEST(UnescapeTest, EscapesOfJson) {
  int64_t forgiven_count = 0;
  EXPECT_EQ(Unescape(R"(a\n\t\"\\\/\u0041\u00e9\u20ac\ud83d\ude00)", &forgiven_count),
            "a\n\t\"\\/A\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
  EXPECT_EQ(forgiven_count, 0);
}

TEST(UnescapeTest, WhatIsInvalidIsKeptOrReplacedAndCounted) {
  int64_t forgiven_count = 0;
  EXPECT_EQ(Unescape(R"(torch\cuda)", &forgiven_count), R"(torch\cuda)");
  EXPECT_EQ(Unescape(R"(\u12)", &forgiven_count), R"(\u12)");
  EXPECT_EQ(Unescape("a\x01", &forgiven_count), "a?");
  EXPECT_EQ(Unescape("\xff\xc0\x80", &forgiven_count), "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
  EXPECT_EQ(Unescape("end\\", &forgiven_count), "end\\");
  EXPECT_EQ(forgiven_count, 7);
}

}  // namespace
}  // namespace stallhound::capture
