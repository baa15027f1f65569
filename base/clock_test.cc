#include "base/clock.h"

#include <gtest/gtest.h>

#include "base/testing/fake_clock.h"

namespace stallhound {
namespace {

TEST(SystemClockTest, MonotonicNeverGoesBackAndRealtimeIsADate) {
  const int64_t first_ns = SystemClock().MonotonicNs();
  EXPECT_GE(SystemClock().MonotonicNs(), first_ns);
  EXPECT_GT(SystemClock().RealtimeNs(), int64_t{1'700'000'000} * 1'000'000'000);
}

TEST(FakeClockTest, MovesOnlyWhenTold) {
  testing::FakeClock clock;
  EXPECT_EQ(clock.MonotonicNs(), 0);
  clock.Advance(1'500'000'000);
  EXPECT_EQ(clock.MonotonicNs(), 1'500'000'000);
  EXPECT_EQ(FormatUtc(clock.RealtimeNs()), "2026-01-01 00:00:01");
}

TEST(FormatUtcTest, PrintsUtcWhateverTheZone) { EXPECT_EQ(FormatUtc(0), "1970-01-01 00:00:00"); }

}  // namespace
}  // namespace stallhound
