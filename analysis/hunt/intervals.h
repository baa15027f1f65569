#pragma once

// Times at which a device was busy, and the gaps between.

#include <absl/types/span.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace stallhound::analysis {

struct Interval {
  int64_t start_ns = 0;
  int64_t end_ns = 0;
};

inline Interval Intersection(const Interval& a, const Interval& b) {
  return {std::max(a.start_ns, b.start_ns), std::min(a.end_ns, b.end_ns)};
}

// A union of intervals that are added in order of their starts. Memory for each that touches no other: the bytes of its
// length and of the gap before it at 7 bits a byte (4 to 6 where both are us), and a quarter byte.
class BusyTime {
 public:
  void Add(int64_t start_ns, int64_t end_ns);
  bool empty() const { return !has_last_; }

  // Reads intervals in order.
  class Cursor {
   public:
    // At the first interval that ends after `time_ns`.
    Cursor(const BusyTime& busy, int64_t time_ns);
    bool is_valid() const { return is_valid_; }
    const Interval& interval() const { return interval_; }
    void Next();

   private:
    const BusyTime* busy_;
    size_t offset_ = 0;
    Interval interval_;
    bool is_valid_ = true;
    bool is_last_ = false;
  };

 private:
  // Where reading can start: `end_ns` is the end of the interval before.
  struct Block {
    int64_t end_ns;
    size_t offset;
  };

  void Append(const Interval& interval);

  std::vector<uint8_t> bytes_;  // all but the last
  std::vector<Block> blocks_;
  size_t count_ = 0;    // in bytes_
  int64_t end_ns_ = 0;  // of the last in bytes_
  bool has_last_ = false;
  Interval last_;
};

struct Gaps {
  int64_t total_ns = 0;
  int64_t longest_ns = 0;
};

// The parts of `span` that none of `unions` covers; none if `span` ends before it starts. Time: logarithmic in the
// unions, linear in their intervals inside the span.
Gaps GapsIn(absl::Span<const BusyTime* const> unions, const Interval& span);

}  // namespace stallhound::analysis
