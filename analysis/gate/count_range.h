#pragma once

#include <cstdint>

namespace stallhound::analysis::gate {

// A count per iteration over a window: constant, or unstable between min and max.
struct CountRange {
  int64_t min = 0;
  int64_t max = 0;
  bool is_stable() const { return min == max; }
  friend bool operator==(const CountRange&, const CountRange&) = default;
};

enum class RangeChange : uint8_t {
  kEqual,
  kRose,           // even the smallest is above all of the baseline
  kFell,           // even the largest is below all of the baseline
  kSometimesRose,  // constant in the baseline, now sometimes above
  kOverlap,        // neither is certain
};

constexpr RangeChange CompareRanges(const CountRange& baseline, const CountRange& candidate) {
  if (baseline == candidate) return RangeChange::kEqual;
  if (candidate.min > baseline.max) return RangeChange::kRose;
  if (candidate.max < baseline.min) return RangeChange::kFell;
  const bool is_above = candidate.max > baseline.max;
  return baseline.is_stable() && is_above ? RangeChange::kSometimesRose : RangeChange::kOverlap;
}

}  // namespace stallhound::analysis::gate
