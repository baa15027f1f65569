#include "kernels/pair.h"

#include <absl/algorithm/container.h>
#include <fmt/format.h>

namespace stallhound::kernels {
namespace {

std::vector<Case> Product(const Pair& pair, const std::vector<Shape>& shapes) {
  std::vector<Case> cases;
  cases.reserve(shapes.size() * pair.dtypes.size() * pair.passes.size());
  for (const Shape& shape : shapes) {
    for (const DType dtype : pair.dtypes) {
      for (const Pass pass : pair.passes) cases.push_back({shape, dtype, pass});
    }
  }
  return cases;
}

}  // namespace

std::string_view Name(Pass pass) { return pass == Pass::kForward ? "forward" : "backward"; }

std::string_view Name(Device device) { return device == Device::kCpu ? "cpu" : "cuda"; }

std::vector<Case> BenchmarkCases(const Pair& pair, Device device) {
  return Product(pair, device == Device::kCpu ? pair.cpu_shapes : pair.cuda_shapes);
}

std::vector<Case> AwkwardCases(const Pair& pair) { return Product(pair, pair.awkward_shapes); }

std::string CaseId(const Pair& pair, const Variant& variant, const Case& benchmark_case) {
  return fmt::format("{}/{}/{}/{}/{}", pair.name, variant.name, Name(benchmark_case.dtype), benchmark_case.shape.name,
                     Name(benchmark_case.pass));
}

bool RunsOn(const Variant& variant, Device device) { return absl::c_linear_search(variant.devices, device); }

}  // namespace stallhound::kernels
