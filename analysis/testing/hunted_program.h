#pragma once

// A recording written down in us, and its hunt; for tests.

#include <gtest/gtest.h>

#include "analysis/hunt/hunt.h"
#include "analysis/testing/recorded_program.h"

namespace stallhound::analysis {

inline constexpr int64_t kUs = 1'000;

class HuntedProgram : public RecordedProgram {
 public:
  uint64_t CallUs(CallSpec call) {
    call.start_ns *= kUs;
    call.end_ns *= kUs;
    return Call(call);
  }
  void KernelUs(const WorkSpec& work, std::string_view name = "kernel") { Kernel(InNs(work), name); }
  void CopyUs(const WorkSpec& work, const CopySpec& copy = {}) { Copy(InNs(work), copy); }
  // A launch of 6 us on the work's stream, and its kernel.
  void LaunchUs(int64_t launch_us, WorkSpec work, std::string_view name = "kernel", uint32_t thread_id = 0) {
    work.correlation_id = CallUs({.api = "cudaLaunchKernel",
                                  .start_ns = launch_us,
                                  .end_ns = launch_us + 6,
                                  .thread_id = thread_id,
                                  .stream_id = work.stream_id,
                                  .process_id = work.process_id,
                                  .context_id = work.context_id});
    KernelUs(work, name);
  }
  // The cost of the first site; report() is whole.
  Cost HuntUs(std::optional<std::string> range = std::nullopt) {
    absl::StatusOr<HuntReport> report = Hunt(capture(), {.range = std::move(range)});
    EXPECT_TRUE(report.ok()) << report.status();
    report_ = report.ok() ? *report : HuntReport();
    return report_.sites.empty() ? Cost() : report_.sites.front().cost;
  }
  const HuntReport& report() const { return report_; }

 private:
  static WorkSpec InNs(WorkSpec work) {
    work.start_ns *= kUs;
    work.end_ns *= kUs;
    return work;
  }
  HuntReport report_;
};

}  // namespace stallhound::analysis
