#include "capture/import/kineto/json_splitter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "capture/import/kineto/byte_masks.h"
#include "capture/import/kineto/string_stream.h"

namespace stallhound::capture {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

struct Split {
  std::vector<std::string> events;
  std::vector<std::pair<std::string, std::string>> keys;
  SplitterStats stats;
  absl::Status status;
};

Split SplitText(const std::string& text, size_t piece_bytes = SIZE_MAX, absl::Status error = absl::OkStatus()) {
  Split split;
  JsonSplitter splitter(std::make_unique<StringStream>(text, piece_bytes, std::move(error)));
  while (true) {
    absl::StatusOr<JsonPiece> piece = splitter.Next();
    split.status = piece.status();
    if (!piece.ok() || piece->kind == JsonPiece::Kind::kEnd) break;
    if (piece->kind == JsonPiece::Kind::kKey) split.keys.emplace_back(piece->key, piece->value);
    if (piece->kind != JsonPiece::Kind::kEvents) continue;
    for (const JsonElement& e : *piece->elements) split.events.emplace_back(piece->text + e.offset, e.size_bytes);
  }
  split.stats = splitter.stats();
  return split;
}

TEST(JsonSplitterTest, CutsEventsAndKeysAroundThem) {
  const Split split = SplitText(R"({"schemaVersion": 1, "deviceProperties": [{"id": 0}],
    "traceEvents": [{"ph":"X","args":{"grid":[1,2,3]}}, {"ph":"M"}], "traceName": "a.json"})");
  EXPECT_THAT(split.events, ElementsAre(R"({"ph":"X","args":{"grid":[1,2,3]}})", R"({"ph":"M"})"));
  EXPECT_THAT(split.keys, ElementsAre(Pair("schemaVersion", "1"), Pair("deviceProperties", R"([{"id":0}])"),
                                      Pair("traceName", "\"a.json\"")));
  EXPECT_FALSE(split.stats.truncated);
  EXPECT_TRUE(split.stats.has_events_key);
}

TEST(JsonSplitterTest, BracesInStringsAreText) {
  const Split split = SplitText(R"([{"name":"a } ] \" { \\"},{"name":"\\\\"}])");
  EXPECT_THAT(split.events, ElementsAre(R"({"name":"a } ] \" { \\"})", R"({"name":"\\\\"})"));
  EXPECT_EQ(split.stats.forgiven_count, 0);
}

TEST(JsonSplitterTest, BareListMayLackItsEnd) {
  const Split split = SplitText("[{\"ph\":\"X\"},\n{\"ph\":\"M\"},\n");
  EXPECT_EQ(split.events.size(), 2u);
  EXPECT_FALSE(split.stats.truncated);
  EXPECT_EQ(split.stats.forgiven_count, 1);
}

TEST(JsonSplitterTest, EveryCutOfADocumentIsNoticed) {
  const std::string text =
      R"({"a": {"b": [1, "x"]}, "traceEvents": [{"n":"1{"},{"n":"2","args":{"k":[]}}], "z": "end"})";
  for (size_t size = 1; size < text.size(); ++size) {
    const Split split = SplitText(text.substr(0, size));
    EXPECT_TRUE(split.stats.truncated) << text.substr(0, size);
    EXPECT_LE(split.events.size(), 2u);
  }
  EXPECT_FALSE(SplitText(text).stats.truncated);
}

TEST(JsonSplitterTest, CutInsideAnEventOfABareListIsNoticed) {
  const Split split = SplitText(R"([{"ph":"X"},{"ph":"M","name":"cut he)");
  EXPECT_THAT(split.events, ElementsAre(R"({"ph":"X"})"));
  EXPECT_TRUE(split.stats.truncated);
}

TEST(JsonSplitterTest, PiecesOfAnySizeGiveTheSame) {
  std::string text = "{\"k\": \"v\", \"traceEvents\": [";
  for (int i = 0; i < 300; ++i) {
    text += (i == 0 ? "" : ",\n ") + std::string("{\"name\":\"") + std::string(i % 70, i % 3 == 0 ? '}' : 'x') +
            "\\\"\",\"args\":{\"i\":[" + std::to_string(i) + "]}}";
  }
  text += "], \"after\": [1, 2]}";
  const Split whole = SplitText(text);
  ASSERT_EQ(whole.events.size(), 300u);
  for (const size_t piece_bytes : {1, 7, 63, 64, 65, 1000}) {
    const Split split = SplitText(text, piece_bytes);
    EXPECT_EQ(split.events, whole.events) << piece_bytes;
    EXPECT_EQ(split.keys, whole.keys) << piece_bytes;
  }
}

TEST(JsonSplitterTest, EventsLargerThanTheWindowStayWhole) {
  const std::string big = "{\"name\":\"" + std::string(3 * JsonSplitter::kWindowBytes, 'x') + "\"}";
  const Split split = SplitText("[{\"a\":1}," + big + ",{\"b\":2}]");
  EXPECT_THAT(split.events, ElementsAre("{\"a\":1}", big, "{\"b\":2}"));
  EXPECT_EQ(split.stats.forgiven_count, 0);
}

TEST(JsonSplitterTest, PathThatEndsInABackslashLosesNoEvent) {
  const Split split =
      SplitText("[\n{\"ph\":\"X\",\"name\":\"C:\\logs\\\",\"pid\":1},\n{\"ph\":\"X\",\"name\":\"b\"}\n]");
  EXPECT_THAT(split.events,
              ElementsAre("{\"ph\":\"X\",\"name\":\"C:\\logs\\\",\"pid\":1}", "{\"ph\":\"X\",\"name\":\"b\"}"));
  EXPECT_GT(split.stats.forgiven_count, 0);
}

TEST(JsonSplitterTest, BrokenQuotesOnOneLineLoseNoEvent) {
  const Split split = SplitText(R"([{"name":"C:\a\","pid":1},{"name":"b"},{"name":"c"}])");
  EXPECT_EQ(split.events.size(), 3u);
}

TEST(JsonSplitterTest, TopLevelPathThatEndsInABackslash) {
  const Split split = SplitText(R"({"traceName": "C:\logs\", "traceEvents": [{"a":1}]})");
  EXPECT_EQ(split.events.size(), 1u);
  EXPECT_FALSE(split.stats.truncated);
}

TEST(JsonSplitterTest, BytesBehindTheDocumentAreCounted) {
  for (const size_t piece_bytes : {size_t{1}, size_t{7}, SIZE_MAX}) {
    const Split two = SplitText(R"({"traceEvents":[{"a":1}]} {"traceEvents":[{"b":2}]})", piece_bytes);
    EXPECT_THAT(two.events, ElementsAre("{\"a\":1}"));
    EXPECT_EQ(two.stats.tail_bytes, 25u);
    EXPECT_FALSE(two.stats.truncated);
    EXPECT_EQ(SplitText("[{\"a\":1}]\n garbage", piece_bytes).stats.tail_bytes, 7u);
    EXPECT_EQ(SplitText("[{\"a\":1}]\n\n", piece_bytes).stats.tail_bytes, 0u);
    EXPECT_EQ(SplitText("{\"traceEvents\":[]}\n", piece_bytes).stats.tail_bytes, 0u);
  }
  const std::string long_tail(3 * JsonSplitter::kWindowBytes, 'x');
  EXPECT_EQ(SplitText("[{\"a\":1}]" + long_tail).stats.tail_bytes, long_tail.size());
}

TEST(JsonSplitterTest, ErrorsOfTheStreamAreKept) {
  const Split split = SplitText("[{\"a\":1},{\"b\"", SIZE_MAX, absl::DataLossError("gzip stream truncated"));
  EXPECT_THAT(split.events, ElementsAre("{\"a\":1}"));
  EXPECT_TRUE(split.stats.truncated);
  EXPECT_EQ(split.stats.read_error.message(), "gzip stream truncated");
}

TEST(JsonSplitterTest, WhatIsNoJsonIsAnError) {
  EXPECT_TRUE(absl::IsInvalidArgument(SplitText("hello").status));
  EXPECT_TRUE(absl::IsInvalidArgument(SplitText("").status));
  EXPECT_THAT(SplitText("{}").events, IsEmpty());
}

TEST(ByteMasksTest, EachBitIsItsByte) {
  for (size_t i = 0; i < kMaskBytes; ++i) {
    std::string bytes(kMaskBytes, '\xdb');  // '[' with the top bit set: no match
    bytes[i] = ']';
    EXPECT_EQ(FindBytes(bytes.data()).close_bracket, uint64_t{1} << i);
    EXPECT_EQ(FindBytes(bytes.data()).quote, 0u);
    bytes[i] = '\\';
    EXPECT_EQ(FindBytes(bytes.data()).backslash, uint64_t{1} << i);
  }
  EXPECT_EQ(PrefixXor(0b100010), ~uint64_t{0} & 0b011110);
}

}  // namespace
}  // namespace stallhound::capture
