#include "analysis/hunt/intervals.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

namespace stallhound::analysis {
namespace {

TEST(IntervalsTest, TouchingIntervalsAreOne) {
  BusyTime busy;
  busy.Add(10, 20);
  busy.Add(20, 30);
  busy.Add(25, 28);
  busy.Add(40, 50);
  BusyTime::Cursor cursor(busy, 0);
  ASSERT_TRUE(cursor.is_valid());
  EXPECT_EQ(cursor.interval().start_ns, 10);
  EXPECT_EQ(cursor.interval().end_ns, 30);
  cursor.Next();
  ASSERT_TRUE(cursor.is_valid());
  EXPECT_EQ(cursor.interval().start_ns, 40);
  cursor.Next();
  EXPECT_FALSE(cursor.is_valid());
  EXPECT_FALSE(BusyTime::Cursor(busy, 50).is_valid());
  EXPECT_EQ(BusyTime::Cursor(busy, 30).interval().start_ns, 40);
}

TEST(IntervalsTest, NothingIsAllGap) {
  const BusyTime busy;
  EXPECT_TRUE(busy.empty());
  const BusyTime* const unions[] = {&busy};
  EXPECT_EQ(GapsIn(unions, {5, 9}).total_ns, 4);
  EXPECT_EQ(GapsIn(unions, {9, 5}).total_ns, 0);
}

TEST(IntervalsTest, GapsKnowWhatEndsThem) {
  BusyTime launched;
  launched.Add(0, 10, Launch{5, 4});
  launched.Add(10, 20, Launch{6, 3});  // one with the first
  launched.Add(50, 60, Launch{300, 0});
  launched.Add(90, 95);
  BusyTime other;
  other.Add(70, 80, Launch{0, 200});
  const BusyTime* const unions[] = {&launched, &other};
  std::vector<std::string> seen;
  ForEachGap(unions, {-3, 85}, [&](const Gap& gap) {
    std::string text = std::to_string(gap.time.start_ns) + "-" + std::to_string(gap.time.end_ns);
    if (gap.next != nullptr && gap.next->launch) {
      text += " " + std::to_string(gap.next->launch->lead_ns) + "/" + std::to_string(gap.next->launch->call_ns);
    }
    seen.push_back(text);
  });
  EXPECT_EQ(seen, (std::vector<std::string>{"-3-0 5/4", "20-50 300/0", "60-70 0/200", "80-85"}));
}

// Against instants marked one by one, over several blocks, with times before zero.
TEST(IntervalsTest, GapsOfRandomUnions) {
  constexpr int64_t kFirst = -2'000;
  constexpr int64_t kEnd = 60'000;
  std::mt19937 random(7);
  BusyTime unions[2];
  std::vector<bool> is_busy(kEnd - kFirst);
  for (BusyTime& busy : unions) {
    for (int64_t start = kFirst; start < kEnd - 600;) {
      const int64_t length = static_cast<int64_t>(random() % 300);
      busy.Add(start, start + length);
      std::fill_n(is_busy.begin() + (start - kFirst), length, true);
      start += static_cast<int64_t>(random() % 400);
    }
  }
  const BusyTime* const both[] = {&unions[0], &unions[1]};
  for (int i = 0; i < 300; ++i) {
    const Interval span{kFirst + static_cast<int64_t>(random() % (kEnd - kFirst)),
                        kFirst + static_cast<int64_t>(random() % (kEnd - kFirst))};
    int64_t total = 0;
    int64_t longest = 0;
    int64_t run = 0;
    for (int64_t time = span.start_ns; time < span.end_ns; ++time) {
      run = is_busy[static_cast<size_t>(time - kFirst)] ? 0 : run + 1;
      total += run > 0 ? 1 : 0;
      longest = std::max(longest, run);
    }
    const Gaps gaps = GapsIn(both, span);
    ASSERT_EQ(gaps.total_ns, total) << span.start_ns << " " << span.end_ns;
    ASSERT_EQ(gaps.longest_ns, longest);
  }
}

}  // namespace
}  // namespace stallhound::analysis
