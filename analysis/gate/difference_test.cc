#include "analysis/gate/difference.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "analysis/gate/kernel_name.h"

namespace stallhound::analysis::gate {
namespace {

CountRange Always(int64_t count) { return {count, count}; }

SiteCount Wait(int64_t line, std::string api = "cudaStreamSynchronize", CountRange range = Always(1)) {
  return {"wait", std::move(api), "model.py", "forward", line, std::nullopt, range};
}

std::vector<int64_t> NewLines(const std::vector<SiteCount>& baseline, const std::vector<SiteCount>& candidate) {
  std::vector<int64_t> lines;
  for (const SiteChange& change : CompareSites(baseline, candidate).risen) {
    EXPECT_FALSE(change.baseline.has_value());
    lines.push_back(change.candidate->line.value());
  }
  return lines;
}

TEST(NormalizeKernelNameTest, DropsWhatABuildChanges) {
  EXPECT_EQ(NormalizeKernelName("_Z3addPfi"), "add(float*, int)");
  EXPECT_EQ(NormalizeKernelName("_INTERNAL_0a1b2c3d_7_norm_cu_9f8e7d6c::kernel(float*)"),
            "(anonymous namespace)::kernel(float*)");
  EXPECT_EQ(NormalizeKernelName("void at::_GLOBAL__N__1234abcd_7_norm_cu_5678::kernel<float>(float*)"),
            "void at::(anonymous namespace)::kernel<float>(float*)");
  EXPECT_EQ(NormalizeKernelName("f(int)::{lambda(float)#2}::operator()(float) const [clone .isra.0]"),
            "f(int)::{lambda(float)}::operator()(float) const");
  EXPECT_EQ(NormalizeKernelName("k<std::array<A<int> > >(int)"), "k<std::array<A<int>>>(int)");
  EXPECT_EQ(NormalizeKernelName("triton_poi_fused_add_mul_12"), "triton_poi_fused_add_mul");
}

TEST(NormalizeKernelNameTest, KeepsWhatTellsKernelsApart) {
  EXPECT_NE(NormalizeKernelName("_Z3addIfEvPT_"), NormalizeKernelName("_Z3addIdEvPT_"));
  for (const std::string name : {"sm90_xmma_gemm_bf16_128x128_tn_n", "ampere_sgemm_128x64_nn_2", "_Znot_mangled", "",
                                 "_INTERNAL_", "a#1", "triton_", "my_INTERNAL_kernel::run"}) {
    EXPECT_EQ(NormalizeKernelName(name), name);
  }
}

TEST(CompareKernelsTest, NamesTheNewAndTheGone) {
  const KernelDifference difference =
      CompareKernels(std::vector<KernelCount>{{"norm", Always(2)}, {"add", Always(1)}, {"old", Always(1)}},
                     std::vector<KernelCount>{{"norm", Always(2)}, {"add", Always(4)}, {"new", Always(1)}});
  ASSERT_EQ(difference.risen.size(), 2u);
  EXPECT_EQ(difference.risen[0].name, "add");
  EXPECT_EQ(difference.risen[0].baseline, Always(1));
  EXPECT_EQ(difference.risen[0].candidate, Always(4));
  EXPECT_EQ(difference.risen[1].name, "new");
  EXPECT_FALSE(difference.risen[1].baseline.has_value());
  ASSERT_EQ(difference.fallen.size(), 1u);
  EXPECT_EQ(difference.fallen[0].name, "old");
  EXPECT_FALSE(difference.fallen[0].candidate.has_value());
}

TEST(CompareKernelsTest, IsAMultisetOfNormalizedNames) {
  const std::vector<KernelCount> before = {{"_INTERNAL_11_x_cu::k()", Always(1)},
                                           {"_INTERNAL_22_x_cu::k()", Always(2)}};
  const std::vector<KernelCount> after = {{"_INTERNAL_33_x_cu::k()", Always(3)}};
  const KernelDifference same = CompareKernels(before, after);
  EXPECT_TRUE(same.risen.empty());
  EXPECT_TRUE(same.fallen.empty());
  const KernelDifference fewer =
      CompareKernels(before, std::vector<KernelCount>{{"_INTERNAL_33_x_cu::k()", Always(2)}});
  ASSERT_EQ(fewer.fallen.size(), 1u);
  EXPECT_EQ(fewer.fallen[0].baseline, Always(3));
}

TEST(CompareKernelsTest, UnstableCountsDifferOnlyWhereTheRangesSaySo) {
  const auto risen = [](CountRange before, CountRange after) {
    return CompareKernels(std::vector<KernelCount>{{"k", before}}, std::vector<KernelCount>{{"k", after}}).risen.size();
  };
  EXPECT_EQ(risen({1, 3}, {2, 5}), 0u);
  EXPECT_EQ(risen({1, 3}, {4, 5}), 1u);
  EXPECT_EQ(risen({1, 1}, {1, 2}), 1u);
}

TEST(CompareSitesTest, EqualSidesDoNotDiffer) {
  const std::vector<SiteCount> sites = {Wait(10), Wait(20), Wait(30, "cudaMemcpy")};
  const SiteDifference difference = CompareSites(sites, sites);
  EXPECT_TRUE(difference.risen.empty());
  EXPECT_TRUE(difference.fallen.empty());
}

TEST(CompareSitesTest, FindsTheNewLineThoughOthersMoved) {
  EXPECT_EQ(NewLines({Wait(10), Wait(20)}, {Wait(10), Wait(15), Wait(21)}), std::vector<int64_t>{15});
  EXPECT_EQ(NewLines({Wait(10), Wait(20)}, {Wait(112), Wait(117), Wait(122)}), std::vector<int64_t>{117});
  EXPECT_EQ(NewLines({Wait(10), Wait(20)}, {Wait(10), Wait(20), Wait(25)}), std::vector<int64_t>{25});
  EXPECT_EQ(NewLines({Wait(10)}, {Wait(10), Wait(12)}), std::vector<int64_t>{12});
  EXPECT_EQ(NewLines({}, {Wait(12)}), std::vector<int64_t>{12});
}

TEST(CompareSitesTest, ApisTellMoreThanLines) {
  EXPECT_EQ(NewLines({Wait(10, "cudaMemcpy")}, {Wait(10, "cudaEventSynchronize"), Wait(14, "cudaMemcpy")}),
            std::vector<int64_t>{10});
}

// One inserted call in a function of many, the lines behind it moved on by it: it must be found wherever it is.
TEST(CompareSitesTest, FindsOneInsertedCallAnywhere) {
  std::mt19937_64 random(51);
  for (int trial = 0; trial < 300; ++trial) {
    std::vector<SiteCount> before, after;
    const int64_t inserted_at = static_cast<int64_t>(random() % 12);
    const int64_t moved = static_cast<int64_t>(random() % 40);
    int64_t line = 10, inserted_line = 0;
    for (int64_t i = 0; i < 12; ++i) {
      if (i == inserted_at) {
        inserted_line = line + 2 + moved;
        after.push_back(Wait(inserted_line));
      }
      line += 4 + static_cast<int64_t>(random() % 9);
      before.push_back(Wait(line));
      after.push_back(Wait(line + moved + (i >= inserted_at ? 1 : 0)));
    }
    EXPECT_EQ(NewLines(before, after), std::vector<int64_t>{inserted_line}) << trial;
  }
}

TEST(CompareSitesTest, ARemovedSiteIsGoneAndTheOthersStay) {
  const SiteDifference difference =
      CompareSites(std::vector<SiteCount>{Wait(10), Wait(20), Wait(30)}, std::vector<SiteCount>{Wait(10), Wait(29)});
  EXPECT_TRUE(difference.risen.empty());
  ASSERT_EQ(difference.fallen.size(), 1u);
  EXPECT_EQ(difference.fallen[0].baseline->line, 20);
}

TEST(CompareSitesTest, OneSiteMayRunMoreOften) {
  const SiteDifference difference = CompareSites(std::vector<SiteCount>{Wait(10)},
                                                 std::vector<SiteCount>{Wait(13, "cudaStreamSynchronize", Always(8))});
  ASSERT_EQ(difference.risen.size(), 1u);
  EXPECT_EQ(difference.risen[0].baseline->line, 10);
  EXPECT_EQ(difference.risen[0].candidate->per_iteration, Always(8));
}

TEST(CompareSitesTest, KindsFunctionsAndSymbolsAreKeptApart) {
  SiteCount native;
  native.kind = "wait";
  native.native_symbol = "Trainer::Step()";
  native.per_iteration = Always(1);
  SiteCount copy = Wait(10);
  copy.kind = "pageable-copy";
  SiteCount elsewhere = Wait(10);
  elsewhere.function = "loss";
  const SiteDifference difference =
      CompareSites(std::vector<SiteCount>{Wait(10)}, std::vector<SiteCount>{Wait(10), native, copy, elsewhere});
  EXPECT_EQ(difference.risen.size(), 3u);
  for (const SiteChange& change : difference.risen) EXPECT_FALSE(change.baseline.has_value());
}

}  // namespace
}  // namespace stallhound::analysis::gate
