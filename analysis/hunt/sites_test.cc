// Which library lines lie below a site's line.

#include "analysis/hunt/sites.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/testing/hunted_program.h"

namespace stallhound::analysis {
namespace {

using ::testing::ElementsAre;

// One user line, model(x, y), whose library waits in `lines`, each as often as it is listed and idle for its own time.
HuntedProgram ModelCall(const std::vector<std::pair<int64_t, int64_t>>& lines) {
  HuntedProgram program;
  int64_t now_us = 0;
  for (const auto& [line, idle_us] : lines) {
    const uint32_t stack = program.PythonStack({{"site-packages/torchvision/roi_heads.py", line}, {"train.py", 10}});
    program.LaunchUs(now_us, {.start_ns = now_us + 9, .end_ns = now_us + 109});
    program.CallUs({.api = "cudaStreamSynchronize",
                    .start_ns = now_us + 12,
                    .end_ns = now_us + 114,
                    .stream_id = 7,
                    .stack_id = stack});
    now_us += 100 + idle_us;
  }
  program.LaunchUs(now_us, {.start_ns = now_us + 9, .end_ns = now_us + 19});
  return program;
}

std::vector<std::string> Lines(HuntedProgram& program) {
  program.HuntUs();
  std::vector<std::string> texts;
  for (const SiteLine& line : program.report().sites.at(0).lines) {
    texts.push_back(std::to_string(*line.frame.line) + " x" + std::to_string(line.count) + " " +
                    std::to_string(line.blocked_ns.value_or(-1)) + " " + std::to_string(line.idle_ns.value_or(-1)));
  }
  return texts;
}

TEST(SiteLines, TheMostIdleComesFirst) {
  HuntedProgram program = ModelCall({{5, 50}, {7, 300}, {5, 60}});
  EXPECT_THAT(Lines(program), ElementsAre("7 x1 97000 300000", "5 x2 194000 110000"));
  EXPECT_EQ(program.report().sites.size(), 1u);
  EXPECT_EQ(program.report().sites[0].line_count, 2);
}

TEST(SiteLines, FiveAreKeptAndAllAreCounted) {
  HuntedProgram program = ModelCall({{1, 50}, {2, 60}, {3, 70}, {4, 80}, {5, 90}, {6, 100}, {7, 40}});
  EXPECT_THAT(Lines(program), ElementsAre("6 x1 97000 100000", "5 x1 97000 90000", "4 x1 97000 80000",
                                          "3 x1 97000 70000", "2 x1 97000 60000"));
  EXPECT_EQ(program.report().sites[0].line_count, 7);
}

TEST(SiteLines, WithoutKernelsTheMostFrequentComesFirst) {
  HuntedProgram program = ModelCall({{1, 50}, {2, 60}, {2, 70}});
  program.capture().mutable_info().recorded.reset(static_cast<size_t>(capture::Table::kKernel));
  EXPECT_THAT(Lines(program), ElementsAre("2 x2 -1 -1", "1 x1 -1 -1"));
}

TEST(SiteLines, APointWithoutAStackHasNone) {
  HuntedProgram program;
  program.CallUs({.api = "cudaDeviceSynchronize", .start_ns = 10, .end_ns = 20});
  program.HuntUs();
  EXPECT_TRUE(program.report().sites.at(0).lines.empty());
  EXPECT_EQ(program.report().sites[0].line_count, 0);
}

}  // namespace
}  // namespace stallhound::analysis
