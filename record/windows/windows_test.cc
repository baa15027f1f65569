#include "record/windows/windows.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "record/testing/spool_records.h"

namespace stallhound::record {
namespace {

using namespace capture::spool;

int64_t g_now_ns = 0;

class WindowsTest : public testing::Test {
 protected:
  void SetUp() override {
    g_now_ns = 1000;
    char pattern[] = "/tmp/windows_test.XXXXXX";
    folder_ = mkdtemp(pattern);
    WriterOptions options;
    options.directory = folder_.c_str();
    options.now_ns = [] { return g_now_ns; };
    writer_.Configure(options);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void Configure(const WindowOptions& options) {
    windows_.Configure(
        options, g_now_ns,
        [](void* context, bool is_on) { static_cast<WindowsTest*>(context)->changes_.push_back(is_on); }, this);
  }
  void Push(const char* name) { windows_.OnRange(RangeEvent::kPush, name, 0); }
  void Pop() { windows_.OnRange(RangeEvent::kPop, "", 0); }

  std::string folder_;
  SpoolWriter writer_;
  Windows windows_{writer_};
  std::vector<bool> changes_;
};

TEST_F(WindowsTest, WithoutConditionsItIsOnFromTheStart) {
  Configure({});
  EXPECT_TRUE(windows_.is_on());
  EXPECT_EQ(changes_, std::vector<bool>{true});
  EXPECT_EQ(windows_.Tick(), INT64_MAX);
  EXPECT_EQ(writer_.generation(), 0u) << "no event, no file";
}

TEST_F(WindowsTest, DelayAndDuration) {
  Configure({.delay_ns = 500, .duration_ns = 100});
  EXPECT_FALSE(windows_.is_on());
  g_now_ns += 400;
  EXPECT_EQ(windows_.Tick(), 100);
  EXPECT_FALSE(windows_.is_on());
  g_now_ns += 100;
  EXPECT_EQ(windows_.Tick(), 100);
  EXPECT_TRUE(windows_.is_on());
  g_now_ns += 100;
  EXPECT_EQ(windows_.Tick(), INT64_MAX);
  EXPECT_FALSE(windows_.is_on());
  EXPECT_EQ(changes_, (std::vector<bool>{true, false}));
  writer_.Close();
  const SpoolRecords records(writer_.path());
  const auto written = records.Of<WindowRecord>(RecordType::kWindow);
  ASSERT_EQ(written.size(), 2u);
  EXPECT_EQ(written[0]->is_on, 1u);
  EXPECT_EQ(records.Text(written[0]->reason), "delay");
  EXPECT_EQ(written[1]->is_on, 0u);
  EXPECT_EQ(records.Text(written[1]->reason), "duration");
}

TEST_F(WindowsTest, RangeOpensAndClosesAtItsOwnLevel) {
  Configure({.range = "step"});
  EXPECT_FALSE(windows_.is_on());
  Push("outer");
  EXPECT_FALSE(windows_.is_on());
  Push("step");
  EXPECT_TRUE(windows_.is_on());
  Push("inner");
  Pop();
  EXPECT_TRUE(windows_.is_on());
  Pop();
  EXPECT_FALSE(windows_.is_on());
  Pop();
  Pop();  // one too many
  EXPECT_FALSE(windows_.is_on());
  EXPECT_EQ(changes_, (std::vector<bool>{true, false}));
}

TEST_F(WindowsTest, NestedRangesOfOneNameCountOnce) {
  Configure({.range = "step"});
  Push("step");
  Push("step");
  Pop();
  EXPECT_TRUE(windows_.is_on());
  Pop();
  EXPECT_FALSE(windows_.is_on());
}

TEST_F(WindowsTest, RangeThatAnotherThreadEnds) {
  Configure({.range = "step"});
  windows_.OnRange(RangeEvent::kStart, "step", 5);
  windows_.OnRange(RangeEvent::kStart, "other", 6);
  EXPECT_TRUE(windows_.is_on());
  std::thread([&] {
    windows_.OnRange(RangeEvent::kEnd, "", 6);
    EXPECT_TRUE(windows_.is_on());
    windows_.OnRange(RangeEvent::kEnd, "", 5);
  }).join();
  EXPECT_FALSE(windows_.is_on());
}

TEST_F(WindowsTest, StepsCountFromOne) {
  Configure({.range = "step", .first_step = 3, .last_step = 4});
  std::string on;
  for (int step = 1; step <= 6; ++step) {
    Push("step");
    on += windows_.is_on() ? '1' : '0';
    Pop();
  }
  EXPECT_EQ(on, "001100");
}

TEST_F(WindowsTest, StartAndStop) {
  Configure({.needs_start = true});
  EXPECT_FALSE(windows_.is_on());
  windows_.Stop("again");
  windows_.Start("profiler");
  windows_.Start("profiler");
  EXPECT_TRUE(windows_.is_on());
  windows_.Stop("profiler");
  EXPECT_FALSE(windows_.is_on());
  EXPECT_EQ(changes_, (std::vector<bool>{true, false}));
}

TEST_F(WindowsTest, EveryConditionMustHold) {
  Configure({.range = "step", .needs_start = true});
  Push("step");
  EXPECT_FALSE(windows_.is_on());
  windows_.Start("x");
  EXPECT_TRUE(windows_.is_on());
  Pop();
  EXPECT_FALSE(windows_.is_on());
}

TEST_F(WindowsTest, ManyThreadsEndConsistent) {
  Configure({.range = "step"});
  std::vector<std::thread> threads;
  for (int t = 0; t < 6; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 2000; ++i) {
        Push("step");
        Pop();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_FALSE(windows_.is_on());
  ASSERT_FALSE(changes_.empty());
  for (size_t i = 0; i < changes_.size(); ++i) ASSERT_EQ(changes_[i], i % 2 == 0);
}

TEST(ParseStepsTest, Forms) {
  uint32_t first = 0;
  uint32_t last = 0;
  EXPECT_TRUE(ParseSteps("10-20", first, last));
  EXPECT_EQ(first, 10u);
  EXPECT_EQ(last, 20u);
  EXPECT_TRUE(ParseSteps("7", first, last));
  EXPECT_EQ(last, 7u);
  EXPECT_TRUE(ParseSteps("5-", first, last));
  EXPECT_EQ(last, UINT32_MAX);
  for (const char* bad : {"", "-", "0-3", "5-4", "a", "1-b", "1-2x", "-3", "1--2", "99999999999"}) {
    EXPECT_FALSE(ParseSteps(bad, first, last)) << bad;
  }
}

}  // namespace
}  // namespace stallhound::record
