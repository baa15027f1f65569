#include "analysis/gate/difference.h"

#include <algorithm>
#include <compare>
#include <cstdlib>
#include <limits>
#include <map>
#include <tuple>

#include "analysis/gate/kernel_name.h"

namespace stallhound::analysis::gate {
namespace {

std::map<std::string, CountRange> ByNormalizedName(std::span<const KernelCount> kernels) {
  std::map<std::string, CountRange> ranges;
  for (const KernelCount& kernel : kernels) {
    CountRange& range = ranges[NormalizeKernelName(kernel.name)];
    range.min += kernel.per_iteration.min;
    range.max += kernel.per_iteration.max;
  }
  return ranges;
}

CountRange RangeOf(const std::optional<CountRange>& side) { return side.value_or(CountRange{}); }
CountRange RangeOf(const std::optional<SiteCount>& side) { return side ? side->per_iteration : CountRange{}; }

template <typename Change>
int64_t SizeOf(const Change& change) {
  return std::abs(RangeOf(change.candidate).max - RangeOf(change.baseline).max);
}

// Adds a change to the side of the difference that it belongs to, if it is one.
template <typename Difference, typename Change>
void Add(Difference& difference, Change change) {
  switch (CompareRanges(RangeOf(change.baseline), RangeOf(change.candidate))) {
    case RangeChange::kRose:
    case RangeChange::kSometimesRose:
      difference.risen.push_back(std::move(change));
      return;
    case RangeChange::kFell:
      difference.fallen.push_back(std::move(change));
      return;
    case RangeChange::kEqual:
    case RangeChange::kOverlap:
      return;
  }
}

// Keeps the order of equal sizes, which is that of names or places.
template <typename Difference>
void SortBySize(Difference& difference) {
  for (auto* changes : {&difference.risen, &difference.fallen}) {
    std::stable_sort(changes->begin(), changes->end(),
                     [](const auto& left, const auto& right) { return SizeOf(left) > SizeOf(right); });
  }
}

// Sites among which lines alone tell one from the other.
using Place =
    std::tuple<std::optional<std::string>, std::optional<std::string>, std::optional<std::string>, std::string>;
using SiteGroup = std::vector<const SiteCount*>;  // in the order of lines

std::map<Place, SiteGroup> ByPlace(std::span<const SiteCount> sites) {
  std::map<Place, SiteGroup> groups;
  for (const SiteCount& site : sites)
    groups[{site.file, site.function, site.native_symbol, site.kind}].push_back(&site);
  for (auto& [place, group] : groups) {
    std::stable_sort(group.begin(), group.end(),
                     [](const SiteCount* left, const SiteCount* right) { return left->line < right->line; });
  }
  return groups;
}

struct PairingCost {
  int64_t api_mismatch_count = std::numeric_limits<int64_t>::max();
  int64_t uneven_lines = 0;  // by how much the moves of neighbours differ, summed
  int64_t first_move_lines = 0;
  auto operator<=>(const PairingCost&) const = default;
  bool is_reachable() const { return api_mismatch_count != std::numeric_limits<int64_t>::max(); }
};

int64_t Move(const SiteCount& from, const SiteCount& to) { return to.line.value_or(0) - from.line.value_or(0); }

// For each of `few` the index of its partner in `many`, rising.
std::vector<size_t> Pair(const SiteGroup& few, const SiteGroup& many) {
  std::vector<std::vector<PairingCost>> cost(few.size(), std::vector<PairingCost>(many.size()));
  std::vector<std::vector<size_t>> before(few.size(), std::vector<size_t>(many.size(), 0));
  for (size_t i = 0; i < few.size(); ++i) {
    for (size_t j = i; j < many.size(); ++j) {
      const int64_t mismatch = few[i]->api != many[j]->api;
      const int64_t move = Move(*few[i], *many[j]);
      if (i == 0) cost[i][j] = {mismatch, 0, std::abs(move)};
      for (size_t k = 0; i > 0 && k < j; ++k) {
        PairingCost through = cost[i - 1][k];
        if (!through.is_reachable()) continue;
        through.api_mismatch_count += mismatch;
        through.uneven_lines += std::abs(move - Move(*few[i - 1], *many[k]));
        if (through < cost[i][j]) {
          cost[i][j] = through;
          before[i][j] = k;
        }
      }
    }
  }
  std::vector<size_t> partners(few.size());
  if (few.empty()) return partners;
  const auto& last = cost.back();
  partners.back() = static_cast<size_t>(std::min_element(last.begin(), last.end()) - last.begin());
  for (size_t i = few.size() - 1; i > 0; --i) partners[i - 1] = before[i][partners[i]];
  return partners;
}

void CompareGroups(const SiteGroup& baseline, const SiteGroup& candidate, SiteDifference& difference) {
  const bool is_growing = baseline.size() <= candidate.size();
  const SiteGroup& few = is_growing ? baseline : candidate;
  const SiteGroup& many = is_growing ? candidate : baseline;
  const std::vector<size_t> partners = Pair(few, many);
  size_t next = 0;
  for (size_t j = 0; j < many.size(); ++j) {
    const SiteCount* partner = next < few.size() && partners[next] == j ? few[next++] : nullptr;
    SiteChange change;
    (is_growing ? change.candidate : change.baseline) = *many[j];
    if (partner != nullptr) (is_growing ? change.baseline : change.candidate) = *partner;
    Add(difference, std::move(change));
  }
}

}  // namespace

KernelDifference CompareKernels(std::span<const KernelCount> baseline, std::span<const KernelCount> candidate) {
  std::map<std::string, KernelChange> changes;
  for (const auto& [name, range] : ByNormalizedName(baseline)) changes[name].baseline = range;
  for (const auto& [name, range] : ByNormalizedName(candidate)) changes[name].candidate = range;
  KernelDifference difference;
  for (auto& [name, change] : changes) {
    change.name = name;
    Add(difference, std::move(change));
  }
  SortBySize(difference);
  return difference;
}

SiteDifference CompareSites(std::span<const SiteCount> baseline, std::span<const SiteCount> candidate) {
  std::map<Place, std::pair<SiteGroup, SiteGroup>> groups;
  for (auto& [place, group] : ByPlace(baseline)) groups[place].first = std::move(group);
  for (auto& [place, group] : ByPlace(candidate)) groups[place].second = std::move(group);
  SiteDifference difference;
  for (const auto& [place, sides] : groups) CompareGroups(sides.first, sides.second, difference);
  SortBySize(difference);
  return difference;
}

}  // namespace stallhound::analysis::gate
