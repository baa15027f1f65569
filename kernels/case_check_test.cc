// The check must find what is planted: a pair whose layer is y = 2 * x * x, and variants that are wrong in one way
// each.

#include "kernels/case_check.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/where.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "kernels/case_runner.h"
#include "kernels/tensor_source.h"

namespace stallhound::kernels {
namespace {

using ::testing::HasSubstr;

using Layer = std::function<at::Tensor(const at::Tensor&)>;

at::Tensor TwiceSquare(const at::Tensor& x) { return 2 * x * x; }

Variant MakeVariant(const std::string& name, const Layer& layer) {
  Variant variant;
  variant.name = name;
  variant.forward = [layer](const Case&, const Tensors& inputs) -> Tensors { return {layer(inputs[0])}; };
  return variant;
}

Pair SquarePair(const Layer& optimized) {
  Pair pair;
  pair.name = "square";
  pair.dtypes = {DType::kFp32, DType::kBf16};
  pair.passes = {Pass::kForward, Pass::kBackward};
  pair.inputs = {{"x", true}};
  pair.outputs = {{"y"}};
  pair.make_inputs = [](const Case& c, Device device, uint64_t seed) -> Tensors {
    return {TensorSource(device, seed).Normal(c.shape.dims, StorageType(c.dtype))};
  };
  pair.variants = {MakeVariant("reference", TwiceSquare), MakeVariant("optimized", optimized)};
  return pair;
}

absl::Status CheckSquare(const Layer& optimized, Pass pass, DType dtype = DType::kFp32) {
  const Pair pair = SquarePair(optimized);
  return CheckCase(pair, pair.variants[kOptimized], {{"100x3", {100, 3}, {}}, dtype, pass}, {});
}

TEST(CheckCaseTest, AcceptsOtherRoundings) {
  const Layer in_other_order = [](const at::Tensor& x) { return (x * 2.0001) * x - 0.0001 * x * x; };
  for (const DType dtype : {DType::kFp32, DType::kBf16}) {
    for (const Pass pass : {Pass::kForward, Pass::kBackward}) {
      EXPECT_TRUE(CheckSquare(TwiceSquare, pass, dtype).ok());
    }
  }
  for (const Pass pass : {Pass::kForward, Pass::kBackward}) {
    const absl::Status status = CheckSquare(in_other_order, pass);
    EXPECT_TRUE(status.ok()) << status;
  }
}

TEST(CheckCaseTest, FindsASmallErrorInOneElement) {
  const Layer wrong = [](const at::Tensor& x) {
    at::Tensor y = TwiceSquare(x).clone();
    const at::Tensor largest = y.detach().abs().max();
    return y + at::where(y.detach() == largest, largest * 1e-6, 0 * largest);
  };
  const absl::Status status = CheckSquare(wrong, Pass::kForward);
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("square/optimized/fp32/100x3/forward: y is wrong: largest error"));
  EXPECT_TRUE(CheckSquare(wrong, Pass::kBackward).ok());
}

TEST(CheckCaseTest, HoldsAPeerToItsOwnRatio) {
  Pair pair = SquarePair([](const at::Tensor& x) { return TwiceSquare(x) * 1.01; });
  const Case c = {{"100x3", {100, 3}, {}}, DType::kFp32, Pass::kForward};
  EXPECT_FALSE(CheckCase(pair, pair.variants[kOptimized], c, {}).ok());
  pair.variants[kOptimized].peer_error_ratio = 0.011;
  EXPECT_TRUE(CheckCase(pair, pair.variants[kOptimized], c, {}).ok());
  pair.variants[kOptimized].peer_error_ratio = 0.009;
  EXPECT_FALSE(CheckCase(pair, pair.variants[kOptimized], c, {}).ok());
}

TEST(CheckCaseTest, FindsAWrongGradient) {
  const Layer wrong = [](const at::Tensor& x) { return TwiceSquare(x) + 0.001 * (x - x.detach()); };
  EXPECT_TRUE(CheckSquare(wrong, Pass::kForward).ok());
  const absl::Status status = CheckSquare(wrong, Pass::kBackward);
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(status.message()), HasSubstr("dx is wrong"));
}

TEST(CheckCaseTest, FindsNaN) {
  const Layer wrong = [](const at::Tensor& x) {
    return at::where(x > 1, TwiceSquare(x) / (0 * x) * 0, TwiceSquare(x));
  };
  EXPECT_THAT(std::string(CheckSquare(wrong, Pass::kForward).message()), HasSubstr("nan, allowed"));
}

TEST(CheckCaseTest, FindsOtherShapesAndTypes) {
  const Layer narrow = [](const at::Tensor& x) { return TwiceSquare(x).narrow(0, 0, 99); };
  EXPECT_THAT(std::string(CheckSquare(narrow, Pass::kForward).message()),
              HasSubstr("y is Float[99, 3], the reference's is Float[100, 3]"));
  const Layer wide = [](const at::Tensor& x) { return TwiceSquare(x).to(at::kDouble); };
  EXPECT_THAT(std::string(CheckSquare(wide, Pass::kForward).message()), HasSubstr("y is Double[100, 3]"));
}

TEST(CheckCaseTest, TurnsExceptionsIntoStatus) {
  const Layer throws = [](const at::Tensor& x) -> at::Tensor { TORCH_CHECK(false, "no luck with ", x.sizes()); };
  const absl::Status status = CheckSquare(throws, Pass::kForward);
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_EQ(std::string(status.message()), "cannot run square/optimized/fp32/100x3/forward: no luck with [100, 3]");
}

TEST(CheckCaseTest, ComparesIndicesExactly) {
  Pair pair = SquarePair(TwiceSquare);
  pair.passes = {Pass::kForward};
  pair.outputs = {{"order", Comparison::kExact}};
  const auto order = [](int64_t shift) {
    return [shift](const at::Tensor& x) { return at::arange(x.size(0)).add_(shift).remainder_(x.size(0)); };
  };
  pair.variants = {MakeVariant("reference", order(0)), MakeVariant("same", order(0)), MakeVariant("shifted", order(1))};
  const Case c = {{"5", {5}, {}}, DType::kFp32, Pass::kForward};
  EXPECT_TRUE(CheckCase(pair, pair.variants[1], c, {}).ok());
  EXPECT_THAT(std::string(CheckCase(pair, pair.variants[2], c, {}).message()),
              HasSubstr("order differs from the exact result"));
  pair.canonical_outputs = [](const Case&, const Tensors&, const Tensors& outputs) -> Tensors {
    return {std::get<0>(outputs[0].sort())};
  };
  EXPECT_TRUE(CheckCase(pair, pair.variants[2], c, {}).ok());
}

TEST(CheckCaseTest, RefusesADeviceThatAVariantLacks) {
  Pair pair = SquarePair(TwiceSquare);
  pair.variants[kOptimized].devices = {Device::kCuda};
  const absl::Status status =
      CheckCase(pair, pair.variants[kOptimized], {{"1", {1}, {}}, DType::kFp32, Pass::kForward}, {});
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(std::string(status.message()), "cannot run square/optimized: it does not run on cpu");
}

TEST(CheckBytesTest, AreEightTimesTheTensorsInFp64) {
  Pair pair = SquarePair(TwiceSquare);
  pair.bytes = [](const Case& c) { return c.shape.dims[0] * 2 * FactsOf(c.dtype).element_bytes; };
  for (const DType dtype : pair.dtypes) {
    EXPECT_EQ(CheckBytes(pair, {{"500", {500}, {}}, dtype, Pass::kForward}), 500 * 2 * 8 * 8) << Name(dtype);
  }
}

TEST(DTypeTest, IsStoredAsItSays) {
  for (const DType dtype : {DType::kFp32, DType::kTf32, DType::kBf16}) {
    const at::Tensor one = at::ones({1}, StorageType(dtype));
    EXPECT_EQ(one.element_size(), FactsOf(dtype).element_bytes) << Name(dtype);
    EXPECT_EQ(DTypeOf(one), dtype == DType::kTf32 ? DType::kFp32 : dtype) << Name(dtype);
    // One and a half roundings are rounded to two.
    const double rounding = FactsOf(dtype).storage_rounding;
    EXPECT_EQ((one + 1.5 * rounding).item<double>(), 1 + 2 * rounding) << Name(dtype);
  }
}

TEST(AvailableBytesTest, LeavesHostMemoryToOthers) {
  const int64_t available_bytes = AvailableBytes(Device::kCpu).value();
  EXPECT_GT(available_bytes, int64_t{1} << 20);
  EXPECT_LT(available_bytes, sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE));
}

TEST(CaseRunnerTest, KeepsValuesInEveryLayout) {
  const Pair pair = SquarePair(TwiceSquare);
  const Case c = {{"4x3", {4, 3}, {}}, DType::kBf16, Pass::kBackward};
  const CaseRunner plain = *CaseRunner::Create(pair, pair.variants[0], c, {});
  const CaseRunner misaligned = *CaseRunner::Create(pair, pair.variants[0], c, {.layout = Layout::kMisaligned});
  const CaseRunner strided = *CaseRunner::Create(pair, pair.variants[0], c, {.layout = Layout::kStrided});
  for (const CaseRunner* runner : {&misaligned, &strided}) {
    EXPECT_TRUE(runner->inputs()[0].equal(plain.inputs()[0]));
    EXPECT_TRUE(runner->output_gradients()[0].equal(plain.output_gradients()[0]));
  }
  EXPECT_TRUE(misaligned.inputs()[0].is_contiguous());
  EXPECT_NE(reinterpret_cast<uintptr_t>(misaligned.inputs()[0].data_ptr()) % 4, 0u);
  EXPECT_FALSE(strided.inputs()[0].is_contiguous());
}

TEST(CaseRunnerTest, RunsAgainWithEqualResults) {
  const Pair pair = SquarePair(TwiceSquare);
  CaseRunner runner =
      *CaseRunner::Create(pair, pair.variants[0], {{"4x3", {4, 3}, {}}, DType::kFp32, Pass::kBackward}, {});
  ASSERT_TRUE(runner.Run().ok());
  const at::Tensor first = runner.results()[0];
  ASSERT_TRUE(runner.Run().ok());
  EXPECT_TRUE(runner.results()[0].equal(first));
  EXPECT_THAT(runner.result_names(), ::testing::ElementsAre("dx"));
}

}  // namespace
}  // namespace stallhound::kernels
