#include "base/units.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace stallhound {
namespace {

using ::testing::HasSubstr;

TEST(FormatDurationTest, ChoosesTheUnitThatFits) {
  EXPECT_EQ(FormatDuration(0), "0 ns");
  EXPECT_EQ(FormatDuration(999), "999 ns");
  EXPECT_EQ(FormatDuration(1'000), "1.00 us");
  EXPECT_EQ(FormatDuration(12'345), "12.3 us");
  EXPECT_EQ(FormatDuration(999'499), "999 us");
  EXPECT_EQ(FormatDuration(999'500), "1.00 ms");
  EXPECT_EQ(FormatDuration(4'560'000), "4.56 ms");
  EXPECT_EQ(FormatDuration(1'230'000'000), "1.23 s");
  EXPECT_EQ(FormatDuration(100'000'000'000), "1 min 40 s");
  EXPECT_EQ(FormatDuration(7'500'000'000'000), "2 h 05 min");
}

TEST(FormatDurationTest, KeepsTheSign) {
  EXPECT_EQ(FormatDuration(-12'345), "-12.3 us");
  EXPECT_EQ(FormatDuration(std::numeric_limits<int64_t>::min()).front(), '-');
}

TEST(FormatRoundedDurationTest, RoundsAndDoesNotOverflow) {
  EXPECT_EQ(FormatRoundedDuration(12'344.6), "12.3 us");
  EXPECT_EQ(FormatRoundedDuration(-999.6), "-1.00 us");
  EXPECT_EQ(FormatRoundedDuration(9e18), "2500000 h 00 min");
  for (const double huge : {1e300, -1e300, 0x1p63, std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_EQ(FormatRoundedDuration(huge), "out of range") << huge;
  }
}

TEST(FormatBytesTest, UsesPowersOf1024) {
  EXPECT_EQ(FormatBytes(0), "0 B");
  EXPECT_EQ(FormatBytes(1023), "1023 B");
  EXPECT_EQ(FormatBytes(4096), "4.00 KiB");
  EXPECT_EQ(FormatBytes(1536ull << 20), "1.50 GiB");
  EXPECT_EQ(FormatBytes((1ull << 20) - 1), "1.00 MiB");
  EXPECT_EQ(FormatBytes(std::numeric_limits<uint64_t>::max()), "16777216 TiB");
}

TEST(FormatCountTest, GroupsDigits) {
  EXPECT_EQ(FormatCount(0), "0");
  EXPECT_EQ(FormatCount(999), "999");
  EXPECT_EQ(FormatCount(1000), "1,000");
  EXPECT_EQ(FormatCount(1234567), "1,234,567");
  EXPECT_EQ(FormatCount(-1234), "-1,234");
  EXPECT_EQ(FormatCount(-123), "-123");
}

TEST(FormatPercentTest, RoundsForPeople) {
  EXPECT_EQ(FormatPercent(0.031), "3.1%");
  EXPECT_EQ(FormatPercent(0.99951), "100%");
  EXPECT_EQ(FormatPercent(-0.5), "-50.0%");
}

TEST(ParseDurationTest, ReadsEveryUnit) {
  EXPECT_EQ(*ParseDuration("0"), 0);
  EXPECT_EQ(*ParseDuration("250ns"), 250);
  EXPECT_EQ(*ParseDuration("20ms"), 20'000'000);
  EXPECT_EQ(*ParseDuration("1.5 s"), 1'500'000'000);
  EXPECT_EQ(*ParseDuration("2min"), 120'000'000'000);
  EXPECT_EQ(*ParseDuration("7d"), 7 * 86'400'000'000'000);
}

TEST(ParseDurationTest, SaysWhatIsWrong) {
  EXPECT_THAT(ParseDuration("20").status().message(), HasSubstr("unit is missing"));
  EXPECT_THAT(ParseDuration("20 weeks").status().message(), HasSubstr("'weeks' is no unit"));
  for (const char* text : {"", "ms", "-5ms", "1.2.3s", "nan s", "999999999999d", "0x10s"}) {
    EXPECT_EQ(ParseDuration(text).status().code(), absl::StatusCode::kInvalidArgument) << text;
  }
}

TEST(ParseIntegerTest, TakesWholeDecimalNumbersOnly) {
  EXPECT_EQ(ParseInteger("-42"), -42);
  EXPECT_EQ(ParseInteger("9223372036854775807"), std::numeric_limits<int64_t>::max());
  for (const char* text : {"", "+1", " 1", "1 ", "1.5", "0x1", "9223372036854775808"}) {
    EXPECT_EQ(ParseInteger(text), std::nullopt) << text;
  }
}

TEST(ParseBytesTest, ReadsBinaryAndDecimalUnits) {
  EXPECT_EQ(*ParseBytes("4096"), 4096u);
  EXPECT_EQ(*ParseBytes("4GiB"), 4ull << 30);
  EXPECT_EQ(*ParseBytes("4G"), 4ull << 30);
  EXPECT_EQ(*ParseBytes("1.5 MiB"), 3ull << 19);
  EXPECT_EQ(*ParseBytes("2MB"), 2'000'000u);
  EXPECT_EQ(*ParseBytes("18446744073709551615"), std::numeric_limits<uint64_t>::max());
}

TEST(ParseBytesTest, RefusesTheRest) {
  for (const char* text : {"", "GiB", "-1", "1 EiB", "99999999999TiB", "4 gigs", "+4"}) {
    EXPECT_EQ(ParseBytes(text).status().code(), absl::StatusCode::kInvalidArgument) << text;
  }
}

}  // namespace
}  // namespace stallhound
