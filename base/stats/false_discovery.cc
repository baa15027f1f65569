#include "base/stats/false_discovery.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace stallhound::stats {

absl::StatusOr<std::vector<double>> AdjustForFalseDiscovery(std::span<const double> p) {
  for (size_t i = 0; i < p.size(); ++i) {
    if (p[i] >= 0 && p[i] <= 1) continue;
    return absl::InvalidArgumentError(
        fmt::format("cannot adjust p-values for false discovery: value {} is {}; it must lie in [0, 1]", i, p[i]));
  }
  std::vector<size_t> order(p.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t left, size_t right) { return p[left] < p[right]; });
  std::vector<double> adjusted(p.size());
  double smallest = 1;
  for (size_t rank = order.size(); rank > 0; --rank) {
    const size_t test = order[rank - 1];
    smallest = std::min(smallest, p[test] * static_cast<double>(p.size()) / static_cast<double>(rank));
    adjusted[test] = smallest;
  }
  return adjusted;
}

}  // namespace stallhound::stats
