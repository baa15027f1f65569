#include "kernels/testing/pair_tests.h"

#include <ATen/ops/equal.h>
#include <fmt/format.h>

#include <cctype>
#include <set>

#include "base/units.h"
#include "kernels/case_check.h"
#include "kernels/testing/cuda_device.h"

namespace stallhound::kernels {
namespace {

std::vector<Subject> OnEachDevice(const Pair& pair, bool only_own) {
  std::vector<Subject> subjects;
  for (size_t i = kOptimized; i < pair.variants.size(); ++i) {
    if (only_own && pair.variants[i].peer_error_ratio) continue;
    for (const Device device : pair.variants[i].devices) subjects.push_back({&pair, &pair.variants[i], device});
  }
  return subjects;
}

}  // namespace

void PrintTo(const Subject& subject, std::ostream* out) {
  *out << subject.pair->name << "/" << subject.variant->name << " on " << Name(subject.device);
}

std::vector<Subject> AllSubjects(const Pair& pair) { return OnEachDevice(pair, /*only_own=*/false); }
std::vector<Subject> OwnSubjects(const Pair& pair) { return OnEachDevice(pair, /*only_own=*/true); }

std::string SubjectName(const ::testing::TestParamInfo<Subject>& info) {
  std::string name =
      info.param.pair->name + "_" + info.param.variant->name + "_" + std::string(Name(info.param.device));
  for (char& c : name) {
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  }
  return name;
}

std::string DescriptorName(const ::testing::TestParamInfo<const Pair*>& info) { return info.param->name; }

TEST_P(DescriptorTest, IsWhole) {
  const Pair& pair = *GetParam();
  ASSERT_GT(pair.variants.size(), kOptimized);
  EXPECT_EQ(pair.variants[kReference].name, "reference");
  EXPECT_EQ(pair.variants[kOptimized].name, "optimized");
  EXPECT_FALSE(pair.cuda_shapes.empty());
  EXPECT_FALSE(pair.cpu_shapes.empty());
  EXPECT_FALSE(pair.awkward_shapes.empty());
  for (const Device device : {Device::kCpu, Device::kCuda}) {
    std::set<std::string> ids;
    for (const Variant& variant : pair.variants) {
      for (const Case& benchmark_case : BenchmarkCases(pair, device)) {
        const std::string id = CaseId(pair, variant, benchmark_case);
        EXPECT_TRUE(ids.insert(id).second) << id << " twice";
        EXPECT_GT(pair.bytes(benchmark_case), 0) << id;
        EXPECT_GE(pair.flops(benchmark_case), 0) << id;
        EXPECT_GE(variant.expected_counts(benchmark_case).kernel_count.value_or(1), 1) << id;
      }
    }
  }
}

TEST_P(DescriptorTest, MakesEqualInputsForEqualSeeds) {
  const Pair& pair = *GetParam();
  const Case benchmark_case = BenchmarkCases(pair, Device::kCpu).front();
  const Tensors first = pair.make_inputs(benchmark_case, Device::kCpu, 7);
  const Tensors again = pair.make_inputs(benchmark_case, Device::kCpu, 7);
  const Tensors other = pair.make_inputs(benchmark_case, Device::kCpu, 8);
  ASSERT_EQ(first.size(), pair.inputs.size());
  bool any_differs = false;
  for (size_t i = 0; i < first.size(); ++i) {
    EXPECT_TRUE(at::equal(first[i], again[i])) << pair.inputs[i].name;
    EXPECT_TRUE(first[i].is_contiguous()) << pair.inputs[i].name;
    any_differs = any_differs || !at::equal(first[i], other[i]);
  }
  EXPECT_TRUE(any_differs);
}

void VariantTest::SetUp() {
  if (GetParam().device == Device::kCuda) {
    SH_NEED_CUDA();
  }
}

void VariantTest::ExpectRight(const std::vector<Case>& cases, Layout layout) {
  const auto& [pair, variant, device] = GetParam();
  const absl::StatusOr<int64_t> available_bytes = AvailableBytes(device);
  ASSERT_TRUE(available_bytes.ok()) << available_bytes.status();
  std::string too_large;
  for (const Case& checked_case : cases) {
    if (const int64_t bytes = CheckBytes(*pair, checked_case); bytes > *available_bytes) {
      too_large += fmt::format("\n  {} needs {}", CaseId(*pair, *variant, checked_case), FormatBytes(bytes));
      continue;
    }
    const absl::Status status = CheckCase(*pair, *variant, checked_case, {.device = device, .layout = layout});
    EXPECT_TRUE(status.ok()) << status << "\n  layout " << static_cast<int>(layout);
  }
  if (too_large.empty()) return;
  GTEST_SKIP() << "too large to check on " << Name(device) << ", where " << FormatBytes(*available_bytes)
               << " may be used:" << too_large;
}

TEST_P(VariantTest, IsRightOnBenchmarkCases) {
  ExpectRight(BenchmarkCases(*GetParam().pair, GetParam().device), Layout::kPlain);
}

TEST_P(OwnVariantTest, IsRightOnAwkwardShapes) { ExpectRight(AwkwardCases(*GetParam().pair), Layout::kPlain); }

TEST_P(OwnVariantTest, IsRightOnMisalignedInputs) { ExpectRight(AwkwardCases(*GetParam().pair), Layout::kMisaligned); }

TEST_P(OwnVariantTest, IsRightOnStridedInputs) { ExpectRight(AwkwardCases(*GetParam().pair), Layout::kStrided); }

TEST_P(OwnVariantTest, LeavesItsInputsAlone) {
  const auto& [pair, variant, device] = GetParam();
  for (const Case& awkward_case : AwkwardCases(*pair)) {
    absl::StatusOr<CaseRunner> runner = CaseRunner::Create(*pair, *variant, awkward_case, {.device = device});
    ASSERT_TRUE(runner.ok()) << runner.status();
    const absl::Status status = runner->Run();
    ASSERT_TRUE(status.ok()) << status;
    const Tensors fresh = pair->make_inputs(awkward_case, device, CaseRunner::Options().seed);
    for (size_t i = 0; i < fresh.size(); ++i) {
      EXPECT_TRUE(at::equal(runner->inputs()[i], fresh[i]))
          << CaseId(*pair, *variant, awkward_case) << ": input " << pair->inputs[i].name;
    }
  }
}

}  // namespace stallhound::kernels
