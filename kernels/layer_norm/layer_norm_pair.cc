#include <ATen/core/Tensor.h>
#include <fmt/format.h>

#include "kernels/case_runner.h"
#include "kernels/layer_norm/layer_norm.h"
#include "kernels/pair.h"
#include "kernels/tensor_source.h"

namespace stallhound::kernels::layer_norm {
namespace {

// Of the models whose layers these are: FIGConvNet (16 to 80, 512), MeshGraphNet (128), TensorNet (128, 256).
constexpr int64_t kWidths[] = {16, 32, 48, 80, 128, 256, 512};
constexpr double kEps = 1e-5;

Shape MakeShape(int64_t rows, int64_t width) { return {fmt::format("{}x{}", rows, width), {rows, width}, {}}; }

int64_t Rows(const Case& c) { return c.shape.dims[0]; }
int64_t Width(const Case& c) { return c.shape.dims[1]; }

std::vector<Shape> ShapesOfEachWidth(std::initializer_list<int64_t> row_counts) {
  std::vector<Shape> shapes;
  for (const int64_t rows : row_counts) {
    for (const int64_t width : kWidths) shapes.push_back(MakeShape(rows, width));
  }
  return shapes;
}

// No row, one row, rows that fill no warp; no column, widths that no vector divides, masked and untuned widths, wide
// rows.
std::vector<Shape> AwkwardShapes() {
  std::vector<Shape> shapes = ShapesOfEachWidth({0, 1, 37});
  for (const auto& [rows, width] : std::initializer_list<std::pair<int64_t, int64_t>>{
           {0, 0},    {5, 0},    {0, 3},     {9, 1},     {33, 2},    {65, 3},   {130, 7},
           {31, 8},   {63, 17},  {129, 24},  {257, 64},  {100, 100}, {70, 127}, {71, 192},
           {67, 384}, {35, 513}, {19, 1000}, {18, 1024}, {7, 1032},  {3, 4099}, {1, 20000}}) {
    shapes.push_back(MakeShape(rows, width));
  }
  return shapes;
}

int64_t Bytes(const Case& c) {
  const int64_t tensors = c.pass == Pass::kForward ? 2 : 3;     // x, y; x, dy, dx
  const int64_t parameters = c.pass == Pass::kForward ? 2 : 3;  // gamma, beta; gamma, dgamma, dbeta
  return (tensors * Rows(c) + parameters) * Width(c) * FactsOf(c.dtype).element_bytes;
}

// Each element, forward: two sums, square, scale, and gamma and beta; backward also g, its two means, dx and the two
// sums over rows.
int64_t Flops(const Case& c) { return Rows(c) * Width(c) * (c.pass == Pass::kForward ? 7 : 16); }

Tensors MakeInputs(const Case& c, Device device, uint64_t seed) {
  TensorSource source(device, seed);
  const at::ScalarType type = StorageType(c.dtype);
  // A mean that is not zero, so that a variance by differences of squares would show.
  const at::Tensor x = source.Normal({Rows(c), Width(c)}, at::kFloat).mul_(2).add_(3).to(type);
  const at::Tensor gamma = source.Uniform({Width(c)}, type, 0.5, 1.5);
  return {x, gamma, source.Normal({Width(c)}, type)};
}

ExpectedCounts Unknown(const Case&) { return {}; }

ExpectedCounts OptimizedCounts(const Case& c) {
  const bool is_forward = c.pass == Pass::kForward;
  return {.kernel_count = is_forward ? 1 : 2,
          .sync_count = 0,
          .host_to_device_count = 0,
          .device_to_host_count = 0,
          .memset_count = 0};
}

using LayerNorm = at::Tensor (*)(const at::Tensor&, const at::Tensor&, const at::Tensor&, double);

Variant MakeVariant(const char* name, LayerNorm layer_norm, ExpectedCounts (*expected)(const Case&)) {
  Variant variant;
  variant.name = name;
  variant.forward = [layer_norm](const Case&, const Tensors& inputs) -> Tensors {
    return {layer_norm(inputs[0], inputs[1], inputs[2], kEps)};
  };
  variant.expected_counts = expected;
  return variant;
}

// LibTorch 2.11's CPU version sums gradients in bf16: dgamma of 10000 rows is off by 14% of its largest value.
Variant LibTorchVariant() {
  Variant variant = MakeVariant("libtorch", LibTorch, Unknown);
  variant.devices = {Device::kCuda};
  variant.peer_error_ratio = 0x1p-6;
  return variant;
}

}  // namespace

Pair MakePair() {
  Pair pair;
  pair.name = "layer_norm";
  pair.cuda_shapes = ShapesOfEachWidth({200'000, 1'200'000});
  pair.cpu_shapes = ShapesOfEachWidth({10'000});
  pair.awkward_shapes = AwkwardShapes();
  pair.dtypes = {DType::kFp32, DType::kBf16};
  pair.passes = {Pass::kForward, Pass::kBackward};
  pair.bytes = Bytes;
  pair.flops = Flops;
  pair.inputs = {{"x", true}, {"gamma", true}, {"beta", true}};
  pair.outputs = {{"y"}};
  pair.make_inputs = MakeInputs;
  pair.variants = {MakeVariant("reference", Reference, Unknown), MakeVariant("optimized", Optimized, OptimizedCounts),
                   LibTorchVariant()};
  return pair;
}

}  // namespace stallhound::kernels::layer_norm
