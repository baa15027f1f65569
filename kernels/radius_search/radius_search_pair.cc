#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/arange.h>
#include <fmt/format.h>

#include <cmath>
#include <numbers>

#include "kernels/case_runner.h"
#include "kernels/pair.h"
#include "kernels/radius_search/radius_search.h"
#include "kernels/tensor_source.h"

namespace stallhound::kernels::radius_search {
namespace {

// Uniform points and queries in the unit cube; of max_neighbors 0 all neighbours are asked for.
struct Numbers {
  int64_t points = 0;
  int64_t queries = 0;
  int64_t max_neighbors = 0;
  double radius = 0;
  int64_t batches = 1;

  bool IsLimited() const { return max_neighbors != 0; }
  // Expected of one query, borders of the cube left aside.
  double Neighbors() const {
    const double ball = 4.0 / 3 * std::numbers::pi * std::pow(radius, 3);
    return static_cast<double>(points) * std::min(ball, 1.0);
  }
  double Kept() const { return IsLimited() ? static_cast<double>(max_neighbors) : Neighbors(); }
};

Shape MakeShape(const Numbers& n) {
  std::string name = fmt::format("{}x{}_r{}_{}", n.points, n.queries, n.radius,
                                 n.IsLimited() ? fmt::format("k{}", n.max_neighbors) : "all");
  if (n.batches != 1) name = fmt::format("{}_{}", n.batches, name);
  return {name, {n.points, n.queries, n.max_neighbors, n.batches}, {n.radius}};
}

Numbers Of(const Case& c) {
  const std::vector<int64_t>& dims = c.shape.dims;
  return {dims[0], dims[1], dims[2], c.shape.scalars[0], dims[3]};
}

std::vector<Shape> MakeShapes(std::initializer_list<Numbers> all) {
  std::vector<Shape> shapes;
  for (const Numbers& n : all) shapes.push_back(MakeShape(n));
  return shapes;
}

// Physicsnemo's own benchmark's sizes, those of its published timings, and rows that are full many times over.
std::vector<Shape> CudaShapes() {
  return MakeShapes({{1024, 512, 32, 0.1},
                     {1024, 512, 32, 0.1, 4},
                     {8192, 4096, 32, 0.1},
                     {100'000, 10'000, 32, 0.05},
                     {100'000, 10'000, 0, 0.05},
                     {300'000, 20'000, 64, 0.1}});
}

std::vector<Shape> CpuShapes() {
  return MakeShapes({{20'000, 20'000, 32, 0.05}, {20'000, 20'000, 0, 0.05}, {8192, 4096, 32, 0.1}});
}

// No point, no query, no batch; radius zero and beyond the cube; limits below, at and above what a warp, a sort and a
// row hold; several batches.
std::vector<Shape> AwkwardShapes() {
  return MakeShapes({{0, 0, 3, 0.1},         {0, 7, 3, 0.1},        {0, 7, 0, 0.1},         {5, 0, 3, 0.1},
                     {5, 0, 0, 0.1},         {9, 9, 2, 0.5, 0},     {9, 9, 0, 0.5, 0},      {1, 1, 1, 2},
                     {1, 1, 0, 2},           {40, 37, 5, 0},        {1000, 33, 1, 0.2},     {1000, 33, 31, 0.3},
                     {1000, 33, 33, 0.3},    {1000, 9, 64, 2},      {1000, 9, 65, 2},       {1500, 3, 1024, 2},
                     {700, 5, 1024, 2},      {500, 70, 0, 2},       {5000, 100, 16, 0.003}, {5000, 100, 0, 0.003},
                     {257, 129, 8, 0.25, 3}, {257, 129, 0, 0.25, 3}});
}

int64_t Bytes(const Case& c) {
  const Numbers n = Of(c);
  const int64_t entry_bytes = 8;  // index, distance
  const int64_t row_bytes = n.IsLimited() ? 4 : 8;
  const auto entries = static_cast<int64_t>(static_cast<double>(n.queries) * n.Kept());
  return n.batches * (12 * n.points + (12 + row_bytes) * n.queries + entry_bytes * entries);
}

// Eight for each distance, of the candidates that a cell list cannot do without: 27 cells of the radius' width.
int64_t Flops(const Case& c) {
  const Numbers n = Of(c);
  const double candidates = static_cast<double>(n.points) * std::min(27 * std::pow(n.radius, 3), 1.0);
  return n.batches * static_cast<int64_t>(8 * static_cast<double>(n.queries) * candidates);
}

Tensors MakeInputs(const Case& c, Device device, uint64_t seed) {
  const Numbers n = Of(c);
  TensorSource source(device, seed);
  const auto draw = [&](int64_t count) {
    const at::Tensor positions = source.Uniform({n.batches, count, 3}, at::kFloat, 0, 1);
    return n.batches == 1 ? positions.squeeze(0) : positions;
  };
  const at::Tensor points = draw(n.points);
  const at::Tensor queries = draw(n.queries);
  // Radius zero has neighbours only where both coincide.
  if (n.radius == 0) queries.narrow(0, 0, n.queries / 2).copy_(points.narrow(0, 0, n.queries / 2));
  return {points, queries};
}

Tensors Run(const Case& c, const Tensors& inputs, LimitedSearch* limited, ExactSearch* exact) {
  const Numbers n = Of(c);
  if (n.IsLimited()) {
    const LimitedNeighbors found = limited(inputs[0], inputs[1], n.radius, n.max_neighbors);
    return {found.indices, found.distances, found.counts};
  }
  const ExactNeighbors found = exact(inputs[0], inputs[1], n.radius);
  return {found.indices, found.distances, found.row_begins};
}

// Who is whose neighbour is defined in fp32; how far they are is not.
Tensors Oracle(const Case& c, const Tensors& inputs) {
  Tensors outputs =
      Run(c, {inputs[0].to(at::kFloat), inputs[1].to(at::kFloat)}, LimitedSearchReference, ExactSearchReference);
  const Numbers n = Of(c);
  const at::Tensor points = inputs[0].reshape({-1, 3});
  const at::Tensor queries = inputs[1].reshape({-1, 3});
  at::Tensor rows = at::arange(queries.size(0), outputs[2].options().dtype(at::kLong));
  if (n.IsLimited()) {
    rows = rows.view({-1, 1}).expand({-1, n.max_neighbors}).reshape(outputs[0].sizes());
  } else {
    rows = rows.repeat_interleave(outputs[2].diff());
  }
  // Nobody's index is 0 too, which is a point only if there are any.
  if (points.size(0) == 0) return {outputs[0], outputs[1].to(at::kDouble), outputs[2]};
  const at::Tensor point_rows = outputs[0].to(at::kLong) + rows.div(n.queries, "floor") * n.points;
  const at::Tensor differences =
      queries.index_select(0, rows.reshape(-1)) - points.index_select(0, point_rows.reshape(-1));
  at::Tensor distances = differences.square().sum(-1).sqrt().reshape(outputs[0].sizes());
  if (n.IsLimited()) {
    const at::Tensor slots = at::arange(n.max_neighbors, outputs[2].options());
    distances = distances.masked_fill(slots >= outputs[2].unsqueeze(-1), 0);
  }
  return {outputs[0], distances, outputs[2]};
}

// Exact rows have no promised order: sorts each by point.
Tensors Canonical(const Case& c, const Tensors&, const Tensors& outputs) {
  if (Of(c).IsLimited()) return outputs;
  const at::Tensor counts = outputs[2].diff();
  const at::Tensor rows = at::arange(counts.size(0), counts.options()).repeat_interleave(counts);
  const at::Tensor order = (rows * (int64_t{1} << 32) + outputs[0]).argsort();
  return {outputs[0].index_select(0, order), outputs[1].index_select(0, order), outputs[2]};
}

ExpectedCounts Unknown(const Case&) { return {}; }

// How many kernels sort and scan is CUB's business.
ExpectedCounts Reading(int64_t read_backs) {
  return {.sync_count = read_backs, .host_to_device_count = 0, .device_to_host_count = read_backs};
}

Variant MakeVariant(const char* name, LimitedSearch* limited, ExactSearch* exact,
                    ExpectedCounts (*expected)(const Case&)) {
  Variant variant;
  variant.name = name;
  variant.forward = [limited, exact](const Case& c, const Tensors& inputs) { return Run(c, inputs, limited, exact); };
  variant.expected_counts = expected;
  return variant;
}

Variant HashGridVariant() {
  Variant variant =
      MakeVariant("hash_grid", LimitedSearchHashGrid, ExactSearchHashGrid, [](const Case&) { return Reading(1); });
  variant.devices = {Device::kCuda};
  return variant;
}

}  // namespace

Pair MakePair() {
  Pair pair;
  pair.name = "radius_search";
  pair.cuda_shapes = CudaShapes();
  pair.cpu_shapes = CpuShapes();
  pair.awkward_shapes = AwkwardShapes();
  pair.dtypes = {DType::kFp32};
  pair.passes = {Pass::kForward};
  pair.bytes = Bytes;
  pair.flops = Flops;
  pair.inputs = {{"points"}, {"queries"}};
  // The last is counts of limited rows, begins of exact ones.
  pair.outputs = {{"indices", Comparison::kExact}, {"distances"}, {"rows", Comparison::kExact}};
  pair.make_inputs = MakeInputs;
  pair.variants = {MakeVariant("reference", LimitedSearchReference, ExactSearchReference, Unknown),
                   MakeVariant("optimized", LimitedSearchOptimized, ExactSearchOptimized,
                               [](const Case& c) { return Reading(Of(c).IsLimited() ? 0 : 1); }),
                   HashGridVariant()};
  pair.oracle = Oracle;
  pair.canonical_outputs = Canonical;
  return pair;
}

}  // namespace stallhound::kernels::radius_search
