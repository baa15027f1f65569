// Edges of the radius search that the tests of its pair do not reach, on every version.

#include "kernels/radius_search/radius_search.h"

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cartesian_prod.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "kernels/tensor_source.h"
#include "kernels/testing/cuda_device.h"
#include "kernels/testing/pair_tests.h"

SH_PAIR_TESTS(radius_search);

namespace stallhound::kernels::radius_search {
namespace {

using ::testing::HasSubstr;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

struct Version {
  std::string name;
  Device device = Device::kCpu;
  LimitedSearch* limited = nullptr;
  ExactSearch* exact = nullptr;
};

std::vector<Version> Versions() {
  std::vector<Version> versions;
  for (const Device device : {Device::kCpu, Device::kCuda}) {
    const std::string on = "_" + std::string(Name(device));
    versions.push_back({"reference" + on, device, LimitedSearchReference, ExactSearchReference});
    versions.push_back({"optimized" + on, device, LimitedSearchOptimized, ExactSearchOptimized});
  }
  versions.push_back({"hash_grid_cuda", Device::kCuda, LimitedSearchHashGrid, ExactSearchHashGrid});
  return versions;
}

class RadiusSearchTest : public ::testing::TestWithParam<Version> {
 protected:
  void SetUp() override {
    if (GetParam().device == Device::kCuda) {
      SH_NEED_CUDA();
    }
  }

  static at::Tensor OnDevice(const at::Tensor& tensor) { return tensor.to(TorchDevice(GetParam().device)); }

  // Results on the CPU.
  static LimitedNeighbors Limited(const at::Tensor& points, const at::Tensor& queries, double radius, int64_t limit) {
    const LimitedNeighbors found = GetParam().limited(OnDevice(points), OnDevice(queries), radius, limit);
    return {found.indices.cpu(), found.distances.cpu(), found.counts.cpu()};
  }
  static ExactNeighbors Exact(const at::Tensor& points, const at::Tensor& queries, double radius) {
    const ExactNeighbors found = GetParam().exact(OnDevice(points), OnDevice(queries), radius);
    return {found.indices.cpu(), found.distances.cpu(), found.row_begins.cpu()};
  }

  // bool [queries, points]: who is whose neighbour; fails if a pair comes twice.
  static at::Tensor Matrix(const at::Tensor& points, const at::Tensor& queries, double radius) {
    const ExactNeighbors found = Exact(points, queries, radius);
    const at::Tensor counts = found.row_begins.diff();
    const at::Tensor rows = at::arange(counts.size(0)).repeat_interleave(counts);
    at::Tensor matrix = at::zeros({queries.size(0), points.size(0)}, at::kInt);
    matrix.index_put_({rows, found.indices.to(at::kLong)}, at::ones({rows.size(0)}, at::kInt), /*accumulate=*/true);
    EXPECT_LE(matrix.numel() == 0 ? 0 : matrix.max().item<int>(), 1) << "a pair twice";
    return matrix.to(at::kBool);
  }

  // Both forms against the reference on the CPU.
  static void ExpectLikeReference(const at::Tensor& points, const at::Tensor& queries, double radius, int64_t limit) {
    const LimitedNeighbors expected = LimitedSearchReference(points, queries, radius, limit);
    const LimitedNeighbors found = Limited(points, queries, radius, limit);
    EXPECT_TRUE(found.counts.equal(expected.counts));
    EXPECT_TRUE(found.indices.equal(expected.indices));
    // LibTorch's root is not the nearest number everywhere.
    EXPECT_TRUE(found.distances.allclose(expected.distances, 0x1p-22, 0));
    EXPECT_TRUE(
        Exact(points, queries, radius).row_begins.equal(ExactSearchReference(points, queries, radius).row_begins));
  }
};

// A band of a few roundings around the radius, and between equal distances, is left to the definition.
TEST_P(RadiusSearchTest, IsBruteForceInFp64) {
  constexpr double kBand = 1e-6;
  TensorSource source(Device::kCpu, 1);
  const at::Tensor points = source.Normal({700, 3}, at::kFloat);
  const at::Tensor queries = source.Normal({300, 3}, at::kFloat);
  const at::Tensor distances =
      (queries.to(at::kDouble).unsqueeze(1) - points.to(at::kDouble).unsqueeze(0)).square().sum(-1).sqrt();
  for (const double radius : {0.05, 0.4, 1.0, 20.0}) {
    const at::Tensor matrix = Matrix(points, queries, radius);
    EXPECT_FALSE((matrix & (distances > radius * (1 + kBand))).any().item<bool>()) << radius;
    EXPECT_FALSE((matrix.logical_not() & (distances < radius * (1 - kBand))).any().item<bool>()) << radius;
    const LimitedNeighbors found = Limited(points, queries, radius, 24);
    const at::Tensor counts = (distances <= radius).sum(1).clamp_max(24);
    EXPECT_LE((found.counts - counts).abs().sum().item<int64_t>(), 1) << radius;
    const at::Tensor nearest = std::get<0>(distances.sort(1)).narrow(1, 0, 24);
    const at::Tensor in_use = at::arange(24) < found.counts.unsqueeze(1);
    EXPECT_TRUE(found.distances.to(at::kDouble).allclose(nearest.masked_fill(in_use.logical_not(), 0), kBand, kBand));
    const at::Tensor of_indices = distances.gather(1, found.indices.to(at::kLong));
    EXPECT_TRUE(
        of_indices.masked_fill(in_use.logical_not(), 0).allclose(found.distances.to(at::kDouble), kBand, kBand));
  }
}

TEST_P(RadiusSearchTest, TakesPointsAtTheRadius) {
  for (const float radius : {0.1f, 0.17f, 1.0f, 3e-5f, 12345.6f}) {
    const at::Tensor points = at::tensor({radius, 0.f, 0.f, 0.f, -radius, 0.f, 0.f, 0.f, radius,  //
                                          std::nextafter(radius, kInfinity) * 1.000001f, 0.f, 0.f})
                                  .view({4, 3});
    const LimitedNeighbors found = Limited(points, at::zeros({1, 3}), radius, 4);
    EXPECT_EQ(found.counts.item<int>(), 3) << radius;
    EXPECT_TRUE(found.indices[0].equal(at::tensor({0, 1, 2, 0}, at::kInt))) << radius;
    EXPECT_TRUE(found.distances[0].allclose(at::tensor({radius, radius, radius, 0.f}), 0x1p-22, 0)) << radius;
    EXPECT_EQ(Exact(points, at::zeros({1, 3}), radius).indices.size(0), 3) << radius;
  }
}

TEST_P(RadiusSearchTest, FindsThreeAlongEachAxis) {
  const at::Tensor queries = at::cartesian_prod({at::arange(4), at::arange(4), at::arange(4)}).to(at::kFloat);
  for (const int axis : {0, 1, 2}) {
    std::vector<at::Tensor> moved;
    for (const double step : {0.05, 0.1, 0.15, 0.2, 0.25, 0.3}) {
      moved.push_back(queries.clone());
      moved.back().select(1, axis).add_(step);
    }
    EXPECT_TRUE((Matrix(at::cat(moved), queries, 0.17).sum(1) == 3).all().item<bool>()) << axis;
  }
}

// Every coordinate is a multiple of the radius, many on a border of two cells.
TEST_P(RadiusSearchTest, FindsSixNeighborsInALattice) {
  for (const double spacing : {0.25, 1 / 1.00390625}) {
    const at::Tensor line = at::arange(-8, 8).to(at::kFloat) * spacing;
    const at::Tensor lattice = at::cartesian_prod({line, line, line});
    const at::Tensor is_inner = (lattice.abs() < 7 * spacing).all(1);
    const at::Tensor counts = Matrix(lattice, lattice, spacing * (1 + 1e-6)).sum(1);
    EXPECT_TRUE((counts.masked_select(is_inner) == 7).all().item<bool>()) << spacing;
    EXPECT_EQ(counts.min().item<int64_t>(), 4) << spacing;
  }
}

TEST_P(RadiusSearchTest, PrefersLowNumbersAmongEqualPoints) {
  const at::Tensor points = at::ones({3000, 3});
  const at::Tensor queries = at::ones({40, 3});
  for (const double radius : {0.0, 0.5}) {
    const LimitedNeighbors found = Limited(points, queries, radius, 33);
    EXPECT_TRUE((found.indices == at::arange(33)).all().item<bool>()) << radius;
    EXPECT_TRUE((found.counts == 33).all().item<bool>()) << radius;
    EXPECT_TRUE(Matrix(points, queries, radius).all().item<bool>()) << radius;
  }
}

TEST_P(RadiusSearchTest, GivesNotANumberNoNeighbors) {
  at::Tensor points = at::zeros({6, 3});
  at::Tensor queries = at::zeros({5, 3});
  points[0][0] = kNan;
  points[2][1] = kInfinity;
  points[3][2] = -kInfinity;
  queries[1][2] = kNan;
  queries[2][1] = kInfinity;
  queries[3].fill_(-kInfinity);
  const LimitedNeighbors found = Limited(points, queries, 1, 4);
  EXPECT_TRUE(found.counts.equal(at::tensor({3, 0, 0, 0, 3}, at::kInt)));
  EXPECT_TRUE(found.indices[4].equal(at::tensor({1, 4, 5, 0}, at::kInt)));
  EXPECT_TRUE(Exact(points, queries, 1).row_begins.equal(at::tensor({0, 3, 3, 3, 3, 6}, at::kLong)));
}

// Where the distance of neighbouring numbers is near the radius or above it, boxes of cells grow and hold more than a
// warp has lanes; beyond the outermost cell all share one.
TEST_P(RadiusSearchTest, SearchesFarFromTheOrigin) {
  TensorSource source(Device::kCpu, 2);
  for (const double offset : {1e3, -1e4, 1e5, 4e5, 1e6, 1e9}) {
    const at::Tensor points = source.Uniform({4000, 3}, at::kFloat, 0, 1) + offset;
    const at::Tensor queries = source.Uniform({300, 3}, at::kFloat, 0, 1) + offset;
    SCOPED_TRACE(offset);
    ExpectLikeReference(points, queries, 0.05, 16);
    ExpectLikeReference(points, queries, 0.0625, 16);
    ExpectLikeReference(points, queries, 1e-9, 16);
    EXPECT_EQ(Matrix(points, queries, 0.0625).sum().item<int64_t>(),
              ExactSearchReference(points, queries, 0.0625).indices.size(0));
  }
}

TEST_P(RadiusSearchTest, SearchesAtAnyScale) {
  TensorSource source(Device::kCpu, 3);
  for (const double scale : {1e-30, 1e-12, 1e-3, 1e6, 1e17}) {
    SCOPED_TRACE(scale);
    ExpectLikeReference(source.Normal({900, 3}, at::kFloat) * scale, source.Normal({90, 3}, at::kFloat) * scale,
                        0.4 * scale, 8);
  }
}

TEST_P(RadiusSearchTest, KeepsBatchesApart) {
  TensorSource source(Device::kCpu, 4);
  const at::Tensor points = source.Uniform({5, 800, 3}, at::kFloat, 0, 1);
  const at::Tensor queries = source.Uniform({5, 70, 3}, at::kFloat, 0, 1);
  ExpectLikeReference(points, queries, 0.2, 12);
  const LimitedNeighbors all = Limited(points, queries, 0.2, 12);
  EXPECT_EQ(all.indices.sizes(), at::IntArrayRef({5, 70, 12}));
  EXPECT_EQ(all.counts.sizes(), at::IntArrayRef({5, 70}));
  const at::Tensor begins = Exact(points, queries, 0.2).row_begins;
  for (int64_t batch = 0; batch < 5; ++batch) {
    const LimitedNeighbors alone = Limited(points[batch], queries[batch], 0.2, 12);
    EXPECT_TRUE(all.indices[batch].equal(alone.indices)) << batch;
    EXPECT_TRUE(all.distances[batch].equal(alone.distances)) << batch;
    const at::Tensor counts = begins.narrow(0, batch * 70, 71).diff();
    EXPECT_TRUE(counts.equal(Exact(points[batch], queries[batch], 0.2).row_begins.diff())) << batch;
  }
}

TEST_P(RadiusSearchTest, GivesEqualBitsEachTime) {
  TensorSource source(Device::kCpu, 5);
  const at::Tensor points = source.Uniform({20'000, 3}, at::kFloat, 0, 1);
  const at::Tensor queries = source.Uniform({2000, 3}, at::kFloat, 0, 1);
  const LimitedNeighbors limited = Limited(points, queries, 0.07, 16);
  const ExactNeighbors exact = Exact(points, queries, 0.07);
  const int thread_count = at::get_num_threads();
  for (int i = 1; i < 5; ++i) {
    at::set_num_threads(i);
    const LimitedNeighbors limited_again = Limited(points, queries, 0.07, 16);
    EXPECT_TRUE(limited.indices.equal(limited_again.indices));
    EXPECT_TRUE(limited.distances.equal(limited_again.distances));
    const ExactNeighbors exact_again = Exact(points, queries, 0.07);
    EXPECT_TRUE(exact.indices.equal(exact_again.indices));
    EXPECT_TRUE(exact.distances.equal(exact_again.distances));
  }
  at::set_num_threads(thread_count);
}

TEST_P(RadiusSearchTest, HasNoGradients) {
  const at::Tensor points = at::ones({4, 3}).requires_grad_();
  EXPECT_FALSE(Limited(points, points, 1, 2).distances.requires_grad());
  EXPECT_FALSE(Exact(points, points, 1).distances.requires_grad());
}

INSTANTIATE_TEST_SUITE_P(AllVersions, RadiusSearchTest, ::testing::ValuesIn(Versions()),
                         [](const auto& info) { return info.param.name; });

std::string WhatIsThrown(const std::function<void()>& work) {
  const absl::Status status = GuardTorch("run", work);
  return status.ok() ? "nothing" : std::string(status.message());
}

TEST(RadiusSearchErrorTest, NamesWhatDoesNotFit) {
  const at::Tensor good = at::ones({4, 3});
  const auto thrown = [](const at::Tensor& points, const at::Tensor& queries, double radius, int64_t limit = 8) {
    return WhatIsThrown([&] { LimitedSearchOptimized(points, queries, radius, limit); });
  };
  EXPECT_EQ(thrown(good, good, 1), "nothing");
  EXPECT_THAT(thrown(at::ones({4, 2}), good, 1), HasSubstr("positions [4, 2]: must be [count, 3]"));
  EXPECT_THAT(thrown(good, at::ones({3}), 1), HasSubstr("positions [3]: must be"));
  EXPECT_THAT(thrown(good, good.to(at::kDouble), 1), HasSubstr("only float"));
  EXPECT_THAT(thrown(good, good.unsqueeze(0), 1), HasSubstr("batches must be alike"));
  EXPECT_THAT(thrown(at::ones({2, 4, 3}), at::ones({3, 4, 3}), 1), HasSubstr("batches must be alike"));
  EXPECT_THAT(thrown(good, good, -1), HasSubstr("radius -1: must be from 0"));
  EXPECT_THAT(thrown(good, good, kNan), HasSubstr("radius nan: must be from 0"));
  EXPECT_THAT(thrown(good, good, 1e19), HasSubstr("must be from 0 to"));
  EXPECT_THAT(thrown(good, good, 1, 0), HasSubstr("for 0 neighbours: must be from 1 to 1024"));
  EXPECT_THAT(thrown(good, good, 1, 1025), HasSubstr("the exact search gives all"));
  EXPECT_THAT(WhatIsThrown([&] { ExactSearchOptimized(good, good, -1); }), HasSubstr("radius -1"));
  EXPECT_THAT(WhatIsThrown([&] { ExactSearchHashGrid(good, good, 1); }), HasSubstr("by hash grid on cpu: only CUDA"));
}

}  // namespace
}  // namespace stallhound::kernels::radius_search
