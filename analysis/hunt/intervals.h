#pragma once

// Times at which a device was busy, and the gaps between.

#include <absl/types/span.h>

#include <cstdint>
#include <vector>

namespace stallhound::analysis {

struct Interval {
  int64_t start_ns = 0;
  int64_t end_ns = 0;
};

inline Interval Intersection(const Interval& a, const Interval& b) {
  return {a.start_ns > b.start_ns ? a.start_ns : b.start_ns, a.end_ns < b.end_ns ? a.end_ns : b.end_ns};
}

// A union of intervals that are added in order of their starts. Memory: 16 bytes for each that touches no other.
class BusyTime {
 public:
  void Add(int64_t start_ns, int64_t end_ns);
  const std::vector<Interval>& intervals() const { return busy_; }

 private:
  std::vector<Interval> busy_;
};

struct Gaps {
  int64_t total_ns = 0;
  int64_t longest_ns = 0;
};

// The parts of `span` that none of `unions` covers; none if `span` ends before it starts. Time: logarithmic in the
// unions, linear in their intervals inside the span.
Gaps GapsIn(absl::Span<const BusyTime* const> unions, const Interval& span);

}  // namespace stallhound::analysis
