#include "capture/sort/row_sorter.h"

#include <gtest/gtest.h>

#include <random>

namespace stallhound::capture {
namespace {

class Collector : public CaptureVisitor {
 public:
  absl::Status On(const KernelBatch& batch) override {
    if (batch.size > kBatchRows) return absl::InternalError("a batch larger than kBatchRows");
    for (size_t i = 0; i < batch.size; ++i) rows.push_back(batch.Get(i));
    return fail_after > 0 && rows.size() >= fail_after ? absl::AbortedError("enough") : absl::OkStatus();
  }
  std::vector<KernelRow> rows;
  size_t fail_after = 0;
};

KernelRow Kernel(int64_t start_ns, uint64_t order) {
  KernelRow row;
  row.start_ns = start_ns;
  row.correlation_id = order;
  return row;
}

void ExpectSorted(const std::vector<KernelRow>& rows) {
  for (size_t i = 1; i < rows.size(); ++i) {
    ASSERT_LE(rows[i - 1].start_ns, rows[i].start_ns) << i;
    if (rows[i - 1].start_ns == rows[i].start_ns) {
      ASSERT_LT(rows[i - 1].correlation_id, rows[i].correlation_id) << i;
    }
  }
}

class RowSorterTest : public ::testing::TestWithParam<std::pair<size_t, size_t>> {};

TEST_P(RowSorterTest, EmitsInTimeOrderAndKeepsTheOrderOfEqualTimes) {
  const auto [row_count, memory_rows] = GetParam();
  RowSorter<KernelBatch> sorter(memory_rows * sizeof(KernelRow));
  std::mt19937 random(7);
  for (size_t i = 0; i < row_count; ++i) {
    ASSERT_TRUE(sorter.Add(Kernel(static_cast<int64_t>(random() % (row_count / 2 + 1)), i)).ok());
  }
  EXPECT_EQ(sorter.size(), row_count);
  for (int again = 0; again < 2; ++again) {
    Collector collector;
    ASSERT_TRUE(sorter.Emit(collector).ok());
    ASSERT_EQ(collector.rows.size(), row_count);
    ExpectSorted(collector.rows);
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, RowSorterTest,
                         ::testing::Values(std::pair{0, 10}, std::pair{1, 10}, std::pair{10, 10}, std::pair{11, 10},
                                           std::pair{5000, 100}, std::pair{30000, 1 << 20}, std::pair{30000, 7000}));

TEST(RowSorter, AddsAfterEmitting) {
  RowSorter<KernelBatch> sorter(3 * sizeof(KernelRow));
  for (uint64_t i = 0; i < 4; ++i) ASSERT_TRUE(sorter.Add(Kernel(static_cast<int64_t>(10 - i), i)).ok());
  Collector first;
  ASSERT_TRUE(sorter.Emit(first).ok());
  ASSERT_TRUE(sorter.Add(Kernel(1, 9)).ok());
  Collector second;
  ASSERT_TRUE(sorter.Emit(second).ok());
  ASSERT_EQ(second.rows.size(), 5u);
  EXPECT_EQ(second.rows.front().start_ns, 1);
  ExpectSorted(second.rows);
}

TEST(RowSorter, PassesTheVisitorsErrorOnAndStaysUsable) {
  RowSorter<KernelBatch> sorter(100 * sizeof(KernelRow));
  for (uint64_t i = 0; i < 20000; ++i) ASSERT_TRUE(sorter.Add(Kernel(static_cast<int64_t>(i), i)).ok());
  Collector failing;
  failing.fail_after = 1;
  EXPECT_EQ(sorter.Emit(failing).code(), absl::StatusCode::kAborted);
  Collector collector;
  ASSERT_TRUE(sorter.Emit(collector).ok());
  EXPECT_EQ(collector.rows.size(), 20000u);
}

TEST(RowSorter, NamesTheTemporaryFolderItCannotUse) {
  setenv("TMPDIR", "/nonexistent", 1);
  RowSorter<KernelBatch> sorter(1);
  const absl::Status status = sorter.Add(Kernel(1, 1));
  unsetenv("TMPDIR");
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_NE(status.message().find("TMPDIR"), absl::string_view::npos);
}

}  // namespace
}  // namespace stallhound::capture
