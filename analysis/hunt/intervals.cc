#include "analysis/hunt/intervals.h"

#include <absl/container/inlined_vector.h>

#include <algorithm>

namespace stallhound::analysis {

void BusyTime::Add(int64_t start_ns, int64_t end_ns) {
  if (!busy_.empty() && start_ns <= busy_.back().end_ns) {
    busy_.back().end_ns = std::max(busy_.back().end_ns, end_ns);
  } else {
    busy_.push_back({start_ns, end_ns});
  }
}

Gaps GapsIn(absl::Span<const BusyTime* const> unions, const Interval& span) {
  using Position = std::pair<std::vector<Interval>::const_iterator, std::vector<Interval>::const_iterator>;
  absl::InlinedVector<Position, 8> positions;
  for (const BusyTime* busy : unions) {
    const std::vector<Interval>& intervals = busy->intervals();
    const auto first =
        std::lower_bound(intervals.begin(), intervals.end(), span.start_ns,
                         [](const Interval& interval, int64_t time_ns) { return interval.end_ns <= time_ns; });
    if (first != intervals.end() && first->start_ns < span.end_ns) positions.emplace_back(first, intervals.end());
  }
  Gaps gaps;
  int64_t free_ns = span.start_ns;
  const auto add = [&](int64_t until_ns) {
    if (until_ns <= free_ns) return;
    gaps.total_ns += until_ns - free_ns;
    gaps.longest_ns = std::max(gaps.longest_ns, until_ns - free_ns);
  };
  while (!positions.empty()) {
    const auto next = std::min_element(positions.begin(), positions.end(), [](const Position& a, const Position& b) {
      return a.first->start_ns < b.first->start_ns;
    });
    if (next->first->start_ns >= span.end_ns) break;
    add(next->first->start_ns);
    free_ns = std::max(free_ns, next->first->end_ns);
    if (++next->first == next->second) positions.erase(next);
  }
  add(span.end_ns);
  return gaps;
}

}  // namespace stallhound::analysis
