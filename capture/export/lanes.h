#pragma once

// Viewers draw the slices of one track as a call stack: each lies inside the one before or behind it. What overlaps
// otherwise goes to further lanes.

#include <cstddef>
#include <cstdint>
#include <vector>

namespace stallhound::capture {

class Lanes {
 public:
  // The first lane in which [start_ns, end_ns] nests or follows. Starts must not fall.
  size_t Place(int64_t start_ns, int64_t end_ns) {
    for (size_t i = 0; i < lanes_.size(); ++i) {
      std::vector<int64_t>& open = lanes_[i];
      while (!open.empty() && open.back() <= start_ns) open.pop_back();
      if (!open.empty() && open.back() < end_ns) continue;
      open.push_back(end_ns);
      return i;
    }
    lanes_.push_back({end_ns});
    return lanes_.size() - 1;
  }

 private:
  std::vector<std::vector<int64_t>> lanes_;  // ends of open slices, outermost first
};

}  // namespace stallhound::capture
