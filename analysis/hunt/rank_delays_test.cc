// Which rank others wait for in collectives, and with what it was late. Times in us.

#include <gtest/gtest.h>

#include "analysis/testing/hunted_program.h"

namespace stallhound::analysis {
namespace {

constexpr char kAllReduce[] = "ncclDevKernel_AllReduce_Sum_f32_RING_LL";

// Two processes, one device each. Rank 0 computes for 100 and is then in the collective from 109 on.
class TwoRanks : public HuntedProgram {
 public:
  TwoRanks() {
    Process(1, 1);
    Thread(1, 4712, "main", 1);
    LaunchUs(0, {.start_ns = 9, .end_ns = 109});
    LaunchUs(1, {.start_ns = 9, .end_ns = 109, .process_id = 1}, "kernel", 1);
  }
  void Collective(int64_t rank_0_us, int64_t rank_1_us, int64_t end_us) {
    LaunchUs(rank_0_us - 9, {.start_ns = rank_0_us, .end_ns = end_us}, kAllReduce);
    LaunchUs(rank_1_us - 9, {.start_ns = rank_1_us, .end_ns = end_us, .process_id = 1}, kAllReduce, 1);
  }
  void WaitOfRank1(int64_t start_us, int64_t end_us) {
    CallUs({.api = "cudaStreamSynchronize",
            .start_ns = start_us,
            .end_ns = end_us,
            .thread_id = 1,
            .stream_id = 7,
            .process_id = 1});
  }
};

TEST(RankDelaysTest, StallAndTheIdleBehindItAreTheCause) {
  TwoRanks ranks;
  ranks.WaitOfRank1(20, 114);  // host work until 5000 follows
  ranks.Collective(109, 5009, 5100);
  ranks.HuntUs();
  ASSERT_EQ(ranks.report().rank_delays.size(), 1);
  const RankDelay& delay = ranks.report().rank_delays[0];
  EXPECT_EQ(delay.late.pid, ranks.report().processes[1].pid);
  EXPECT_EQ(delay.waiting.pid, ranks.report().processes[0].pid);
  EXPECT_EQ(delay.collective_count, 1);
  EXPECT_EQ(delay.wait_ns, 4900 * kUs);
  ASSERT_EQ(delay.causes.size(), 1);
  EXPECT_EQ(delay.causes[0].kind, DelayKind::kStall);
  EXPECT_EQ(delay.causes[0].wait_ns, 4900 * kUs);
  ASSERT_EQ(delay.causes[0].site, 0);
}

TEST(RankDelaysTest, LongerWorkIsDeviceWorkAndALateLaunchIsTheHost) {
  TwoRanks ranks;
  ranks.LaunchUs(10, {.start_ns = 109, .end_ns = 1109, .process_id = 1}, "longer", 1);
  ranks.Collective(109, 1409, 1500);
  ranks.HuntUs();
  ASSERT_EQ(ranks.report().rank_delays.size(), 1);
  const std::vector<DelayCause>& causes = ranks.report().rank_delays[0].causes;
  ASSERT_EQ(causes.size(), 2);
  EXPECT_EQ(causes[0].kind, DelayKind::kDeviceWork);
  EXPECT_EQ(causes[0].wait_ns, 1000 * kUs);
  EXPECT_EQ(causes[1].kind, DelayKind::kHost);
  EXPECT_EQ(causes[1].wait_ns, 300 * kUs);
  EXPECT_FALSE(causes[1].site);
}

// Rank 1 stalls first and then works as long as rank 0.
TEST(RankDelaysTest, StallBeforeTheOthersArriveIsTheCauseToo) {
  TwoRanks ranks;
  ranks.Collective(109, 109, 300);
  ranks.LaunchUs(200, {.start_ns = 310, .end_ns = 900});
  ranks.WaitOfRank1(290, 305);
  ranks.LaunchUs(800, {.start_ns = 810, .end_ns = 1400, .process_id = 1}, "kernel", 1);
  ranks.Collective(900, 1400, 1500);
  ranks.HuntUs();
  ASSERT_EQ(ranks.report().rank_delays.size(), 1);
  const std::vector<DelayCause>& causes = ranks.report().rank_delays[0].causes;
  EXPECT_EQ(ranks.report().rank_delays[0].wait_ns, 500 * kUs);
  ASSERT_EQ(causes.size(), 1);
  EXPECT_EQ(causes[0].kind, DelayKind::kStall);
}

TEST(RankDelaysTest, StallOfBothRanksIsNoCause) {
  TwoRanks ranks;
  ranks.Collective(109, 109, 300);
  ranks.CallUs({.api = "cudaStreamSynchronize", .start_ns = 280, .end_ns = 305, .stream_id = 7});
  ranks.WaitOfRank1(280, 305);
  ranks.LaunchUs(800, {.start_ns = 810, .end_ns = 900});
  ranks.LaunchUs(800, {.start_ns = 810, .end_ns = 1400, .process_id = 1}, "kernel", 1);
  ranks.Collective(900, 1400, 1500);
  ranks.HuntUs();
  ASSERT_EQ(ranks.report().rank_delays.size(), 1);
  const std::vector<DelayCause>& causes = ranks.report().rank_delays[0].causes;
  ASSERT_EQ(causes.size(), 1);
  EXPECT_EQ(causes[0].kind, DelayKind::kDeviceWork);
  EXPECT_EQ(causes[0].wait_ns, 500 * kUs);
}

TEST(RankDelaysTest, EachRankMayBeLate) {
  TwoRanks ranks;
  ranks.Collective(109, 209, 300);
  ranks.Collective(1000, 700, 1100);
  ranks.HuntUs();
  ASSERT_EQ(ranks.report().rank_delays.size(), 2);
  EXPECT_EQ(ranks.report().rank_delays[0].wait_ns, 300 * kUs);
  EXPECT_EQ(ranks.report().rank_delays[0].late.pid, ranks.report().processes[0].pid);
  EXPECT_EQ(ranks.report().rank_delays[1].wait_ns, 100 * kUs);
}

TEST(RankDelaysTest, OnlyCollectivesOfTheMeasuredRange) {
  TwoRanks ranks;
  ranks.Collective(109, 209, 300);
  ranks.Collective(1000, 1700, 1800);
  ranks.Range("step", 900 * kUs, 2000 * kUs);
  ranks.HuntUs("step");
  ASSERT_EQ(ranks.report().rank_delays.size(), 1);
  EXPECT_EQ(ranks.report().rank_delays[0].wait_ns, 700 * kUs);
}

TEST(RankDelaysTest, CollectivesThatDoNotMatchAreSaid) {
  TwoRanks ranks;
  ranks.Collective(109, 209, 300);
  ranks.LaunchUs(391, {.start_ns = 400, .end_ns = 500}, kAllReduce);
  ranks.HuntUs();
  EXPECT_TRUE(ranks.report().rank_delays.empty());
  ASSERT_FALSE(ranks.report().notes.empty());
  EXPECT_NE(ranks.report().notes[0].find("do not match"), std::string::npos);
}

}  // namespace
}  // namespace stallhound::analysis
