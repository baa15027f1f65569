#include "analysis/cases/cases.h"

#include <gtest/gtest.h>

#include "analysis/testing/hunted_program.h"

namespace stallhound::analysis {
namespace {

using capture::Table;
using store::EventKind;

constexpr int64_t kIterationUs = 1'000;

// A bench program of one thread, written down case by case.
class BenchProgram : public HuntedProgram {
 public:
  // A case whose iteration `i` does `work(start, i)`, with the harness's sync behind each. Times in us.
  template <typename Work>
  void Case(const std::string& id, int iteration_count, Work&& work) {
    const int64_t begin_us = now_us_;
    for (int i = 0; i < iteration_count; ++i, now_us_ += kIterationUs) {
      work(now_us_, i);
      Range(kIterationRange, now_us_ * kUs, (now_us_ + 500) * kUs);
      CallUs({.api = "cudaDeviceSynchronize", .start_ns = now_us_ + 600, .end_ns = now_us_ + 700});
    }
    Range(id, begin_us * kUs, now_us_ * kUs);
    now_us_ += kIterationUs;
  }
  void LaunchAt(int64_t us, const char* kernel = "kernel", uint32_t grid_x = 1) {
    LaunchUs(us, {.start_ns = us + 10, .end_ns = us + 30, .grid_x = grid_x}, kernel);
  }
  void ReadBackAt(int64_t us, uint32_t stack_id) {
    const uint64_t copy =
        CallUs({.api = "cudaMemcpyAsync", .start_ns = us, .end_ns = us + 60, .stream_id = 7, .stack_id = stack_id});
    CopyUs({.correlation_id = copy, .start_ns = us + 50, .end_ns = us + 55}, {.bytes = 8});
    CallUs(
        {.api = "cudaStreamSynchronize", .start_ns = us + 61, .end_ns = us + 62, .stream_id = 7, .stack_id = stack_id});
  }
  CaseCounts One(const std::string& id) {
    const std::vector<std::string> ids = {id};
    const absl::StatusOr<CasesReport> report = CountCases(capture(), ids);
    EXPECT_TRUE(report.ok()) << report.status();
    return report->cases.at(0);
  }

 private:
  int64_t now_us_ = 1'000;
};

const store::EventCount* Find(const CaseCounts& counts, EventKind kind) {
  for (const store::EventCount& count : counts.event_counts) {
    if (count.kind == kind) return &count;
  }
  return nullptr;
}

int64_t StableCount(const CaseCounts& counts, EventKind kind) {
  const store::EventCount* count = Find(counts, kind);
  EXPECT_NE(count, nullptr) << store::Text(kind);
  if (count == nullptr) return -1;
  EXPECT_EQ(count->min_count, count->max_count) << store::Text(kind);
  return count->min_count;
}

TEST(CasesTest, CountsWhatLiesInIterationsAlone) {
  BenchProgram program;
  program.Case("layer/a", 14, [&](int64_t us, int) {
    program.LaunchAt(us + 10, "first");
    program.LaunchAt(us + 20, "second");
    program.LaunchAt(us + 550);
  });
  const CaseCounts counts = program.One("layer/a");
  EXPECT_EQ(counts.problem, "");
  EXPECT_EQ(counts.recorded_iteration_count, 14);
  EXPECT_EQ(counts.iteration_count, 12);
  EXPECT_EQ(counts.counts_complete, true);
  EXPECT_EQ(StableCount(counts, EventKind::kKernel), 2);
  EXPECT_EQ(StableCount(counts, EventKind::kWait), 0) << "the harness waits outside of the iterations";
  EXPECT_EQ(StableCount(counts, EventKind::kHostToDevice), 0);
  EXPECT_EQ(Find(counts, EventKind::kHostToDevice)->max_bytes, 0);
  EXPECT_EQ(StableCount(counts, EventKind::kMemset), 0);
  EXPECT_EQ(Find(counts, EventKind::kKernel)->max_bytes, std::nullopt);
  EXPECT_TRUE(counts.sync_sites.empty());
  ASSERT_EQ(counts.kernels.size(), 2u);
  EXPECT_EQ(counts.kernels[0].name, "first");
  EXPECT_EQ(counts.kernels[0].min_count, 1);
  EXPECT_EQ(counts.kernels[0].median_ns, 20 * kUs);
  EXPECT_EQ(counts.kernels[0].total_ns, 12 * 20 * kUs);
}

TEST(CasesTest, ASyncHasItsLineAndItsCost) {
  BenchProgram program;
  const uint32_t stack = program.PythonStack({{"layer.py", 27}});
  program.Case("layer/a", 12, [&](int64_t us, int) {
    program.LaunchAt(us + 10);
    program.ReadBackAt(us + 20, stack);
    program.LaunchAt(us + 100);
  });
  const CaseCounts counts = program.One("layer/a");
  EXPECT_EQ(StableCount(counts, EventKind::kWait), 1);
  EXPECT_EQ(StableCount(counts, EventKind::kDeviceToHost), 1);
  EXPECT_EQ(Find(counts, EventKind::kDeviceToHost)->min_bytes, 8);
  EXPECT_EQ(Find(counts, EventKind::kDeviceToHost)->source_memory, "device");
  EXPECT_EQ(Find(counts, EventKind::kDeviceToHost)->target_memory, "pageable");
  ASSERT_EQ(counts.sync_sites.size(), 1u);
  const store::SyncSite& site = counts.sync_sites[0];
  EXPECT_EQ(site.kind, EventKind::kWait);
  EXPECT_EQ(site.file, "layer.py");
  EXPECT_EQ(site.line, 27);
  EXPECT_EQ(site.api, "cudaStreamSynchronize");
  EXPECT_EQ(site.count, 10) << "of the window alone";
  EXPECT_EQ(site.blocked_ns, 10 * (75 - 20) * kUs);
  EXPECT_EQ(site.idle_ns, 10 * (110 - 75) * kUs);
  EXPECT_GT(site.recoverable_ns.value_or(0), 0);
  EXPECT_EQ(site.confidence, store::Confidence::kExact);
}

TEST(CasesTest, ASyncHasTheOperatorThatTheBenchMarked) {
  BenchProgram program;
  const uint32_t stack = program.NativeStack({"at::native::nonzero_cuda"});
  program.Case("layer/a", 12, [&](int64_t us, int) {
    program.LaunchAt(us + 10);
    program.Range("aten::index", (us + 18) * kUs, (us + 90) * kUs);
    program.Range("aten::nonzero", (us + 19) * kUs, (us + 85) * kUs);
    program.ReadBackAt(us + 20, stack);
    program.LaunchAt(us + 100);
  });
  const CaseCounts counts = program.One("layer/a");
  ASSERT_EQ(counts.sync_sites.size(), 1u);
  EXPECT_EQ(counts.sync_sites[0].operator_name, "aten::nonzero");
}

TEST(CasesTest, CasesAreToldApartInOneRead) {
  BenchProgram program;
  program.Case("layer/a", 12, [&](int64_t us, int) { program.LaunchAt(us + 10); });
  program.Case("layer/b", 12, [&](int64_t us, int) {
    for (int i = 0; i < 3; ++i) program.LaunchAt(us + 10 + 10 * i);
  });
  program.capture().set_batch_rows(7);
  const std::vector<std::string> ids = {"layer/b", "layer/none", "layer/a"};
  const absl::StatusOr<CasesReport> report = CountCases(program.capture(), ids);
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(StableCount(report->cases[0], EventKind::kKernel), 3);
  EXPECT_EQ(StableCount(report->cases[2], EventKind::kKernel), 1);
  EXPECT_EQ(report->cases[1].recorded_iteration_count, 0);
  EXPECT_EQ(report->cases[1].iteration_count, std::nullopt);
  EXPECT_TRUE(report->cases[1].event_counts.empty());
  EXPECT_EQ(program.capture().ReadCount(Table::kKernel), 1);
}

TEST(CasesTest, WithoutAGpuSideCountsAreUnknown) {
  BenchProgram program;
  program.Case("layer/a", 12, [](int64_t, int) {});
  program.capture().mutable_info().recorded = capture::Tables({Table::kProcess, Table::kThread, Table::kRange});
  const CaseCounts counts = program.One("layer/a");
  EXPECT_EQ(counts.recorded_iteration_count, 12);
  EXPECT_EQ(counts.iteration_count, std::nullopt);
  EXPECT_EQ(counts.counts_complete, std::nullopt);
  EXPECT_EQ(counts.problem, "");
  EXPECT_TRUE(counts.event_counts.empty());
}

TEST(CasesTest, AKindThatWasNotRecordedHasNoRow) {
  BenchProgram program;
  program.Case("layer/a", 12, [&](int64_t us, int) { program.LaunchAt(us + 10); });
  program.capture().mutable_info().recorded.reset(static_cast<size_t>(Table::kMemset));
  const CaseCounts counts = program.One("layer/a");
  EXPECT_EQ(Find(counts, EventKind::kMemset), nullptr);
  EXPECT_NE(Find(counts, EventKind::kWait), nullptr);
}

TEST(CasesTest, TheWindowStartsBehindWhatACacheKeeps) {
  BenchProgram program;
  program.Case("grows/a", 16, [&](int64_t us, int i) {
    program.LaunchAt(us + 50);
    if (i < 3) program.CallUs({.api = "cudaMalloc", .start_ns = us + 10, .end_ns = us + 20});
  });
  program.Case("churns/a", 16, [&](int64_t us, int) {
    program.LaunchAt(us + 50);
    program.CallUs({.api = "cudaMalloc", .start_ns = us + 10, .end_ns = us + 20});
    program.CallUs({.api = "cudaFree", .start_ns = us + 100, .end_ns = us + 110});
  });
  program.Case("loads/a", 16, [&](int64_t us, int i) {
    program.LaunchAt(us + 50);
    if (i < 2) {
      program.CallUs({.api = "cuModuleLoadData", .start_ns = us + 51, .end_ns = us + 52, .is_nested = true});
    }
  });
  EXPECT_EQ(program.One("grows/a").iteration_count, 16 - 3 - 2);
  EXPECT_EQ(StableCount(program.One("grows/a"), EventKind::kDeviceAllocation), 0);
  EXPECT_EQ(program.One("churns/a").iteration_count, 16 - 2);
  EXPECT_EQ(StableCount(program.One("churns/a"), EventKind::kDeviceAllocation), 1);
  EXPECT_EQ(StableCount(program.One("churns/a"), EventKind::kAllocator), 2);
  EXPECT_EQ(program.One("loads/a").iteration_count, 16 - 2 - 2);
}

TEST(CasesTest, AnotherKernelInTheSameNumberIsNoSteadyIteration) {
  BenchProgram program;
  program.Case("layer/a", 16,
               [&](int64_t us, int i) { program.LaunchAt(us + 10, i < 4 && i % 2 == 0 ? "try" : "best"); });
  const CaseCounts counts = program.One("layer/a");
  EXPECT_EQ(counts.iteration_count, 16 - 3 - 2);
  ASSERT_EQ(counts.kernels.size(), 1u) << "what ran before the window only is left out";
  EXPECT_EQ(counts.kernels[0].name, "best");
}

TEST(CasesTest, AShapeThatFollowsTheInputsIsNoOtherKernel) {
  BenchProgram program;
  program.Case("layer/a", 16, [&](int64_t us, int i) {
    const auto found = static_cast<uint32_t>(1 + i % 4);
    program.LaunchAt(us + 10, "select", found);
    program.LaunchAt(us + 20, "gather", 2 * found);
    program.LaunchAt(us + 30, "same");
  });
  const CaseCounts counts = program.One("layer/a");
  EXPECT_EQ(counts.iteration_count, 16 - 2);
  ASSERT_EQ(counts.kernels.size(), 3u);
  for (const store::KernelAggregate& kernel : counts.kernels) {
    EXPECT_EQ(kernel.min_count, 1) << kernel.name;
    EXPECT_EQ(kernel.max_count, 1) << kernel.name;
    EXPECT_EQ(kernel.grid.has_value(), kernel.name == "same") << kernel.name;
    EXPECT_TRUE(kernel.block.has_value()) << kernel.name;
  }
}

TEST(CasesTest, NormalisedNamesShareARow) {
  BenchProgram program;
  program.Case("layer/a", 12, [&](int64_t us, int) {
    program.LaunchAt(us + 10, "triton_poi_fused_add_3");
    program.LaunchAt(us + 20, "triton_poi_fused_add_4");
  });
  const CaseCounts counts = program.One("layer/a");
  ASSERT_EQ(counts.kernels.size(), 1u);
  EXPECT_EQ(counts.kernels[0].min_count, 2);
}

TEST(CasesTest, AnUnstableCountIsARange) {
  BenchProgram program;
  program.Case("layer/a", 16, [&](int64_t us, int i) {
    program.LaunchAt(us + 10);
    if (i % 5 == 4) program.LaunchAt(us + 20);
  });
  const CaseCounts counts = program.One("layer/a");
  EXPECT_EQ(Find(counts, EventKind::kKernel)->min_count, 1);
  EXPECT_EQ(Find(counts, EventKind::kKernel)->max_count, 2);
}

TEST(CasesTest, TooFewIterationsAreAProblem) {
  BenchProgram program;
  program.Case("layer/a", 11, [&](int64_t us, int) { program.LaunchAt(us + 10); });
  const CaseCounts counts = program.One("layer/a");
  EXPECT_EQ(counts.problem, "window-too-short");
  EXPECT_EQ(counts.iteration_count, 9);
  EXPECT_EQ(counts.counts_complete, std::nullopt);
  EXPECT_TRUE(counts.event_counts.empty());
}

TEST(CasesTest, LossInsideTheWindowIsSaid) {
  BenchProgram program;
  program.Case("layer/a", 12, [&](int64_t us, int) { program.LaunchAt(us + 10); });
  program.Case("layer/b", 12, [&](int64_t us, int) { program.LaunchAt(us + 10); });
  capture::LossRow loss;
  loss.counter = capture::LossCounter::kDroppedRecords;
  loss.count = 3;
  loss.start_ns = 15'000 * kUs;  // between the first cases' last iteration and the second case's window
  loss.end_ns = 20'000 * kUs;
  program.capture().Add(loss);
  EXPECT_EQ(program.One("layer/a").counts_complete, true);
  EXPECT_EQ(program.One("layer/b").counts_complete, false);
}

TEST(CasesTest, GpuWorkWithoutItsLaunchMakesCountsIncomplete) {
  BenchProgram program;
  program.Case("layer/a", 12, [&](int64_t us, int) { program.LaunchAt(us + 10); });
  program.KernelUs({.correlation_id = 999'999, .start_ns = 6'100, .end_ns = 6'110});
  EXPECT_EQ(program.One("layer/a").counts_complete, false);
}

}  // namespace
}  // namespace stallhound::analysis
