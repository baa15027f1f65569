// Waits for functions of the host make no CUDA call: a report says so where there are some, and only there.

#include <gtest/gtest.h>

#include <algorithm>

#include "analysis/testing/hunted_program.h"

namespace stallhound::analysis {
namespace {

std::string HostFunctionNote(const HuntReport& report) {
  const auto it = std::find_if(report.notes.begin(), report.notes.end(), [](const std::string& note) {
    return note.find("cudaLaunchHostFunc") != std::string::npos;
  });
  return it == report.notes.end() ? "" : *it;
}

// A step as JAX makes it: a kernel, a copy to pinned memory, a function behind it, and a pause until it has run.
void Step(HuntedProgram& program, int64_t start_us) {
  program.LaunchUs(start_us, {.start_ns = start_us + 9, .end_ns = start_us + 109});
  program.CallUs({.api = "cuLaunchHostFunc", .start_ns = start_us + 10, .end_ns = start_us + 12, .thread_id = 1});
}

TEST(HostFunctionsTest, AreToldOf) {
  HuntedProgram program;
  Step(program, 0);
  program.HuntUs();
  EXPECT_TRUE(HostFunctionNote(program.report()).starts_with("1 host function ran"));
  Step(program, 300);
  program.HuntUs();
  EXPECT_TRUE(HostFunctionNote(program.report()).starts_with("2 host functions ran"));
  EXPECT_EQ(program.report().sync_point_count, 0);
}

TEST(HostFunctionsTest, CountInTheMeasuredRange) {
  HuntedProgram program;
  Step(program, 0);
  Step(program, 300);
  program.Range("step", 290 * kUs, 500 * kUs);
  program.HuntUs("step");
  EXPECT_TRUE(HostFunctionNote(program.report()).starts_with("1 host function ran"));
}

TEST(HostFunctionsTest, NestedAndFailedCallsAreNone) {
  HuntedProgram program;
  program.LaunchUs(0, {.start_ns = 9, .end_ns = 109});
  program.CallUs({.api = "cuLaunchHostFunc", .start_ns = 10, .end_ns = 12, .is_nested = true});
  program.CallUs({.api = "cudaStreamAddCallback", .start_ns = 20, .end_ns = 22, .return_value = 1});
  program.HuntUs();
  EXPECT_EQ(HostFunctionNote(program.report()), "");
}

}  // namespace
}  // namespace stallhound::analysis
