#include "base/json_writer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>

namespace stallhound {
namespace {

std::string Written(const std::function<void(JsonWriter&)>& write, int indent_count = 0) {
  std::string out;
  JsonWriter writer(&out, indent_count);
  write(writer);
  EXPECT_TRUE(writer.Finish().ok());
  return out;
}

std::string WrittenString(std::string_view text) {
  return Written([&](JsonWriter& writer) { writer.String(text); });
}

TEST(JsonWriterTest, WritesNestedValues) {
  const auto write = [](JsonWriter& writer) {
    writer.BeginObject();
    writer.Field("name", "site");
    writer.Key("counts");
    writer.BeginArray();
    writer.Int(-1);
    writer.Bool(true);
    writer.Null();
    writer.BeginObject();
    writer.EndObject();
    writer.EndArray();
    writer.Field("idle_ns", std::optional<int64_t>());
    writer.Field("blocked_ns", std::optional<int64_t>(7));
    writer.EndObject();
  };
  EXPECT_EQ(Written(write), R"({"name":"site","counts":[-1,true,null,{}],"idle_ns":null,"blocked_ns":7})");
  EXPECT_EQ(Written(write, 2),
            "{\n  \"name\": \"site\",\n  \"counts\": [\n    -1,\n    true,\n    null,\n    {}\n  ],\n"
            "  \"idle_ns\": null,\n  \"blocked_ns\": 7\n}\n");
}

TEST(JsonWriterTest, KeepsIntegersExact) {
  EXPECT_EQ(Written([](JsonWriter& writer) { writer.Int(std::numeric_limits<int64_t>::min()); }),
            "-9223372036854775808");
  EXPECT_EQ(Written([](JsonWriter& writer) { writer.Uint(std::numeric_limits<uint64_t>::max()); }),
            "18446744073709551615");
}

TEST(JsonWriterTest, WritesDoublesThatReadBackEqual) {
  for (const double value : {0.1, 1e300, -2.5e-310, 1.0 / 3.0, 123456789.0}) {
    const std::string text = Written([&](JsonWriter& writer) { writer.Double(value); });
    EXPECT_EQ(nlohmann::json::parse(text).get<double>(), value) << text;
  }
}

TEST(JsonWriterTest, WritesNullForWhatIsNoNumber) {
  for (const double value : {std::nan(""), HUGE_VAL, -HUGE_VAL}) {
    EXPECT_EQ(Written([&](JsonWriter& writer) { writer.Double(value); }), "null");
  }
}

TEST(JsonWriterTest, EscapesEveryByteThatNeedsIt) {
  EXPECT_EQ(WrittenString("a\"b\\c\n\t\r\b\f\x01\x7f/"), R"("a\"b\\c\n\t\r\b\f\u0001\u007f/")");
  EXPECT_EQ(WrittenString(std::string_view("nul\0byte", 8)), R"("nul\u0000byte")");
  EXPECT_EQ(WrittenString("\xC3\xA9 \xE2\x82\xAC \xF0\x9F\x90\x95"), "\"\xC3\xA9 \xE2\x82\xAC \xF0\x9F\x90\x95\"");
}

TEST(JsonWriterTest, EscapesWhatATerminalWouldObeyOrHideWithoutLoss) {
  const std::string text = "\u009b31m \u202e\u2066 \u200b \u2028 \U000e0041 \uffff";
  const std::string json = WrittenString(text);
  EXPECT_EQ(json, R"("\u009b31m \u202e\u2066 \u200b \u2028 \udb40\udc41 \uffff")");
  EXPECT_EQ(nlohmann::json::parse(json).get<std::string>(), text);
}

TEST(JsonWriterTest, ReplacesInvalidUtf8) {
  struct Case {
    std::string_view text;
    int replaced_count;
  };
  const Case cases[] = {
      {"\xFF", 1},              // never valid
      {"\xC0\xAF", 2},          // overlong
      {"\xE0\x80\x80", 3},      // overlong
      {"\xED\xA0\x80", 3},      // surrogate
      {"\xF4\x90\x80\x80", 4},  // beyond U+10FFFF
      {"\xE2\x82", 2},          // cut off
      {"\x80", 1},              // continuation alone
      {"\xC3(", 1},             // lead byte followed by ASCII
  };
  for (const Case& test : cases) {
    const std::string json = WrittenString(test.text);
    const std::string text = nlohmann::json::parse(json).get<std::string>();
    int count = 0;
    for (size_t at = text.find("\xEF\xBF\xBD"); at != std::string::npos; at = text.find("\xEF\xBF\xBD", at + 3))
      ++count;
    EXPECT_EQ(count, test.replaced_count) << json;
  }
}

TEST(JsonWriterTest, EveryByteStringBecomesValidJson) {
  uint32_t random = 1;
  for (int round = 0; round < 2000; ++round) {
    std::string bytes;
    for (int i = 0; i < 12; ++i) {
      random = random * 1664525u + 1013904223u;
      bytes += static_cast<char>(random >> 24);
    }
    EXPECT_TRUE(nlohmann::json::accept(WrittenString(bytes)));
  }
}

TEST(JsonWriterTest, StreamsInPiecesAndReportsTheSinksError) {
  size_t largest = 0;
  size_t total = 0;
  JsonWriter good([&](std::string_view piece) {
    largest = std::max(largest, piece.size());
    total += piece.size();
    return absl::OkStatus();
  });
  good.BeginArray();
  for (int i = 0; i < 100'000; ++i) good.String("ten bytes.");
  good.EndArray();
  EXPECT_TRUE(good.Finish().ok());
  EXPECT_EQ(total, 100'000 * 13 + 1);
  EXPECT_LT(largest, 70'000u);

  JsonWriter bad([](std::string_view) { return absl::ResourceExhaustedError("no space"); });
  bad.BeginArray();
  bad.EndArray();
  EXPECT_EQ(bad.Finish().code(), absl::StatusCode::kResourceExhausted);
}

using JsonWriterDeathTest = ::testing::Test;

TEST(JsonWriterDeathTest, MisuseAsserts) {
  std::string out;
  JsonWriter writer(&out);
  writer.BeginObject();
  EXPECT_DEATH(writer.Int(1), "has_key_");
  EXPECT_DEATH(writer.EndArray(), "is_object");
}

}  // namespace
}  // namespace stallhound
