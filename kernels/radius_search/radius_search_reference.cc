#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/bincount.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/cdist.h>
#include <ATen/ops/fmin.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <optional>

#include "kernels/radius_search/radius_search.h"

namespace stallhound::kernels::radius_search {
namespace {

// The distances of one chunk: 64 MiB on the CPU, 1 GiB on a GPU, whose topk is slow where rows are few.
int64_t MostDistances(const at::Tensor& points) { return int64_t{1} << (points.is_cuda() ? 28 : 24); }

constexpr int kWithoutMatrixProduct = 2;

// Neighbours of a stretch of queries, ascending by (row, point).
struct Pairs {
  at::Tensor rows;    // int64, from 0 for the first query of the stretch
  at::Tensor points;  // int64
  at::Tensor squared_distances;
};

// Distances of cdist are good to a few roundings, so it only chooses the candidates.
Pairs FindPairs(const at::Tensor& points, const at::Tensor& queries, double radius,
                std::optional<int64_t> max_neighbors) {
  const at::Tensor distances = at::cdist(queries, points, 2, kWithoutMatrixProduct);
  at::Tensor bound = at::full({queries.size(0), 1}, radius, queries.options());
  if (max_neighbors && *max_neighbors < points.size(0)) {
    const at::Tensor nearest = std::get<0>(distances.topk(*max_neighbors, -1, /*largest=*/false, /*sorted=*/true));
    bound = at::fmin(bound, nearest.narrow(-1, *max_neighbors - 1, 1));
  }
  const std::vector<at::Tensor> candidates = (distances <= bound * (1 + 0x1p-18) + 0x1p-60).nonzero_numpy();
  const at::Tensor difference = queries.index_select(0, candidates[0]) - points.index_select(0, candidates[1]);
  const at::Tensor squares = difference * difference;
  const at::Tensor squared_distances = squares.select(1, 0) + squares.select(1, 1) + squares.select(1, 2);
  const float fp32_radius = static_cast<float>(radius);
  const float squared_radius = fp32_radius * fp32_radius;
  const at::Tensor chosen = (squared_distances <= squared_radius).nonzero().squeeze(1);
  return {candidates[0].index_select(0, chosen), candidates[1].index_select(0, chosen),
          squared_distances.index_select(0, chosen)};
}

// Calls work(first query, count) for stretches of queries that keep memory bounded.
template <typename Work>
void ForChunks(const at::Tensor& points, const at::Tensor& queries, const Work& work) {
  const int64_t step = std::max<int64_t>(MostDistances(points) / std::max<int64_t>(points.size(0), 1), 1);
  for (int64_t first = 0; first < queries.size(0); first += step) work(first, std::min(step, queries.size(0) - first));
}

at::Tensor Begins(const at::Tensor& rows, int64_t row_count) {
  const at::Tensor counts = at::bincount(rows, {}, row_count);
  return at::cat({at::zeros({1}, counts.options()), counts.cumsum(0)});
}

// Fills the rows of one chunk.
void TakeNearest(const Pairs& pairs, const LimitedNeighbors& rows) {
  const int64_t row_count = rows.counts.size(0);
  const int64_t max_neighbors = rows.indices.size(1);
  at::Tensor order = pairs.squared_distances.argsort(/*stable=*/true, 0, /*descending=*/false);
  order = order.index_select(0, pairs.rows.index_select(0, order).argsort(/*stable=*/true, 0, /*descending=*/false));
  const at::Tensor sorted_rows = pairs.rows.index_select(0, order);
  const at::Tensor begins = Begins(sorted_rows, row_count);
  const at::Tensor ranks = at::arange(sorted_rows.size(0), sorted_rows.options()) - begins.index_select(0, sorted_rows);
  const at::Tensor kept = (ranks < max_neighbors).nonzero().squeeze(1);
  const at::Tensor slots = (sorted_rows * max_neighbors + ranks).index_select(0, kept);
  const at::Tensor chosen = order.index_select(0, kept);
  rows.indices.view(-1).index_copy_(0, slots, pairs.points.index_select(0, chosen).to(at::kInt));
  rows.distances.view(-1).index_copy_(0, slots, pairs.squared_distances.index_select(0, chosen).sqrt());
  rows.counts.copy_(begins.diff().clamp_max(max_neighbors));
}

LimitedNeighbors LimitedOfBatch(const at::Tensor& points, const at::Tensor& queries, double radius,
                                int64_t max_neighbors) {
  const int64_t row_count = queries.size(0);
  const LimitedNeighbors all = {at::zeros({row_count, max_neighbors}, queries.options().dtype(at::kInt)),
                                at::zeros({row_count, max_neighbors}, queries.options()),
                                at::zeros({row_count}, queries.options().dtype(at::kInt))};
  ForChunks(points, queries, [&](int64_t first, int64_t count) {
    TakeNearest(FindPairs(points, queries.narrow(0, first, count), radius, max_neighbors),
                {all.indices.narrow(0, first, count), all.distances.narrow(0, first, count),
                 all.counts.narrow(0, first, count)});
  });
  return all;
}

}  // namespace

LimitedNeighbors LimitedSearchReference(const at::Tensor& points, const at::Tensor& queries, double radius,
                                        int64_t max_neighbors) {
  const at::NoGradGuard no_gradients;
  if (points.dim() == 2) return LimitedOfBatch(points, queries, radius, max_neighbors);
  std::vector<int64_t> sizes = {queries.size(0), queries.size(1), max_neighbors};
  const LimitedNeighbors all = {at::zeros(sizes, queries.options().dtype(at::kInt)),
                                at::zeros(sizes, queries.options()),
                                at::zeros({sizes[0], sizes[1]}, queries.options().dtype(at::kInt))};
  for (int64_t batch = 0; batch < sizes[0]; ++batch) {
    const LimitedNeighbors rows = LimitedOfBatch(points[batch], queries[batch], radius, max_neighbors);
    all.indices[batch].copy_(rows.indices);
    all.distances[batch].copy_(rows.distances);
    all.counts[batch].copy_(rows.counts);
  }
  return all;
}

ExactNeighbors ExactSearchReference(const at::Tensor& points, const at::Tensor& queries, double radius) {
  const at::NoGradGuard no_gradients;
  if (points.dim() == 2) return ExactSearchReference(points.unsqueeze(0), queries.unsqueeze(0), radius);
  const at::TensorOptions integers = queries.options().dtype(at::kLong);
  std::vector<at::Tensor> rows = {at::zeros({0}, integers)};
  std::vector<at::Tensor> indices = {at::zeros({0}, integers)};
  std::vector<at::Tensor> distances = {at::zeros({0}, queries.options())};
  for (int64_t batch = 0; batch < queries.size(0); ++batch) {
    ForChunks(points[batch], queries[batch], [&](int64_t first, int64_t count) {
      const Pairs pairs = FindPairs(points[batch], queries[batch].narrow(0, first, count), radius, std::nullopt);
      rows.push_back(pairs.rows + (batch * queries.size(1) + first));
      indices.push_back(pairs.points);
      distances.push_back(pairs.squared_distances.sqrt());
    });
  }
  return {at::cat(indices).to(at::kInt), at::cat(distances), Begins(at::cat(rows), queries.size(0) * queries.size(1))};
}

}  // namespace stallhound::kernels::radius_search
