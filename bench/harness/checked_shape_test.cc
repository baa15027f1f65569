#include "bench/harness/checked_shape.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <gtest/gtest.h>

#include "bench/testing/square_pair.h"
#include "kernels/case_check.h"

namespace stallhound::bench {
namespace {

using kernels::Case;
using kernels::CheckBytes;
using kernels::DType;
using kernels::Pass;

// Right on fewer than 1000 rows only, so that an answer tells what was checked.
kernels::Pair RightOnFewRows() {
  return SquarePair("square", [](const at::Tensor& x) { return 2 * x.square() + (x.size(0) < 1000 ? 0 : 1); });
}

class CheckedShapeTest : public ::testing::Test {
 protected:
  CheckedShapeTest() {
    pair_.cuda_shapes = {{"500x3", {500, 3}, {}}, {"2000x3", {2000, 3}, {}}, {"9000x5", {9000, 5}, {}}};
  }

  Case ForShape(size_t index, DType dtype = DType::kFp32) const {
    return {pair_.cuda_shapes[index], dtype, Pass::kForward};
  }
  absl::StatusOr<std::string> Check(size_t index, int64_t limit_bytes) const {
    return CheckWithinMemory({&pair_, &pair_.variants[kernels::kOptimized], ForShape(index)}, kernels::Device::kCpu,
                             limit_bytes);
  }

  kernels::Pair pair_ = RightOnFewRows();
};

TEST_F(CheckedShapeTest, CandidatesAreSmallerAndOfTheSameWidth) {
  std::vector<std::string> names;
  for (const Case& candidate : CheckCandidates(pair_, ForShape(1))) names.push_back(candidate.shape.name);
  EXPECT_EQ(names, (std::vector<std::string>{"2000x3", "500x3", "100x3", "7x3"})) << "an empty shape checks nothing";
  EXPECT_EQ(CheckCandidates(pair_, ForShape(2)).size(), 1U);
}

TEST_F(CheckedShapeTest, ChecksTheCaseItselfWhereItFits) {
  EXPECT_EQ(Check(0, 1 << 20).value(), "500x3");
  EXPECT_EQ(Check(1, 1 << 20).status().code(), absl::StatusCode::kDataLoss);
}

TEST_F(CheckedShapeTest, ChecksASmallerShapeWhereItDoesNot) {
  EXPECT_EQ(Check(1, CheckBytes(pair_, ForShape(1)) - 1).value(), "500x3");
  EXPECT_EQ(Check(1, CheckBytes(pair_, ForShape(0)) - 1).value(), "100x3");
}

TEST_F(CheckedShapeTest, SaysWhenNothingFits) {
  const absl::Status status = Check(2, 1000).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_NE(status.message().find("square/optimized/fp32/9000x5/forward"), std::string::npos) << status;
  EXPECT_NE(status.message().find("1000 B may be used"), std::string::npos) << status;
}

}  // namespace
}  // namespace stallhound::bench
