#include "capture/import/kineto/kineto_event.h"

#include <gtest/gtest.h>

#include <string>

namespace stallhound::capture {
namespace {

TEST(ParseMicrosecondsTest, DecimalsAreExact) {
  EXPECT_EQ(ParseMicroseconds("12"), 12'000);
  EXPECT_EQ(ParseMicroseconds("12.3"), 12'300);
  EXPECT_EQ(ParseMicroseconds("0.001"), 1);
  EXPECT_EQ(ParseMicroseconds("1712345678000016.123"), 1'712'345'678'000'016'123);
  EXPECT_EQ(ParseMicroseconds("-5.25"), -5'250);
}

TEST(ParseMicrosecondsTest, FurtherDigitsAreRounded) {
  EXPECT_EQ(ParseMicroseconds("1.0004"), 1'000);
  EXPECT_EQ(ParseMicroseconds("1.0005"), 1'001);
  EXPECT_EQ(ParseMicroseconds("1.9999999"), 2'000);
}

TEST(ParseMicrosecondsTest, QuotesAndExponents) {
  EXPECT_EQ(ParseMicroseconds("\"7.5\""), 7'500);
  EXPECT_EQ(ParseMicroseconds("1.5e3"), 1'500'000);
  EXPECT_EQ(ParseMicroseconds("2E-3"), 2);
}

TEST(ParseMicrosecondsTest, WhatIsNoTimeIsUnknown) {
  for (const char* text :
       {"", "\"\"", "-", "N/A", "NaN", "inf", "1.2.3", "1e400", "99999999999999999999", "null", "1x"}) {
    EXPECT_EQ(ParseMicroseconds(text), std::nullopt) << text;
  }
}

TEST(ParseWrappingIntegerTest, All64Bits) {
  EXPECT_EQ(ParseWrappingInteger("18446744073709551615"), UINT64_MAX);
  EXPECT_EQ(ParseWrappingInteger("12884901891"), 12'884'901'891u);
  EXPECT_EQ(ParseWrappingInteger("-1"), UINT64_MAX);
  EXPECT_EQ(ParseWrappingInteger("7.0"), 7u);
  EXPECT_EQ(ParseWrappingInteger("1.2e3"), 1200u);
}

TEST(ParseWrappingIntegerTest, TextWithANumber) {
  EXPECT_EQ(ParseWrappingInteger("\"stream 7\""), 7u);
  EXPECT_EQ(ParseWrappingInteger("\"25738\""), 25'738u);
}

TEST(ParseWrappingIntegerTest, WhatIsNoIntegerIsUnknown) {
  for (const char* text : {"", "\"Spans\"", "18446744073709551616", "1.5", "NaN", "null", "true", "-"}) {
    EXPECT_EQ(ParseWrappingInteger(text), std::nullopt) << text;
  }
}

// Keys are followed by readable bytes, as in a parser's buffer.
void SetArg(KinetoEvent& event, std::string key, std::string_view token) {
  key += '"';
  key.resize(key.size() + 64, ' ');
  event.SetArg(key.data(), token);
}

TEST(KinetoEventTest, BareTokensAreCountedAndUnknown) {
  KinetoEvent event;
  event.Clear();
  SetArg(event, "memory bandwidth (GB/s)", "N/A");
  SetArg(event, "bytes", "NaN");
  SetArg(event, "correlation", "\"x\"");
  EXPECT_EQ(event.bare_count, 2);
  EXPECT_EQ(event.bare_token, "N/A");
  EXPECT_EQ(event.bad_value_count, 1);
  EXPECT_FALSE(event.Has(KinetoArg::kBytes));
}

TEST(KinetoEventTest, DimensionsNeedThreeNumbers) {
  KinetoEvent event;
  event.Clear();
  SetArg(event, "grid", "[16, 2, 1]");
  SetArg(event, "block", "[128]");
  EXPECT_TRUE(event.has_grid);
  EXPECT_EQ(event.grid, (std::array<int64_t, 3>{16, 2, 1}));
  EXPECT_FALSE(event.has_block);
  EXPECT_EQ(event.bad_value_count, 1);
}

TEST(KinetoEventTest, IdsOutOfRangeAreUnknown) {
  KinetoEvent event;
  event.Clear();
  SetArg(event, "stream", "-1");
  SetArg(event, "context", "1");
  EXPECT_EQ(event.FindId(KinetoArg::kStream), std::nullopt);
  EXPECT_EQ(event.FindId(KinetoArg::kContext), 1u);
}

}  // namespace
}  // namespace stallhound::capture
