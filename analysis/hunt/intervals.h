#pragma once

// Times at which a device was busy, and the gaps between.

#include <absl/functional/function_ref.h>
#include <absl/types/span.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace stallhound::analysis {

struct Interval {
  int64_t start_ns = 0;
  int64_t end_ns = 0;
};

// How work came to its device.
struct Launch {
  int64_t lead_ns = 0;  // from the beginning of the call that submitted it to its start
  int64_t call_ns = 0;  // length of that call
};

inline Interval Intersection(const Interval& a, const Interval& b) {
  return {std::max(a.start_ns, b.start_ns), std::min(a.end_ns, b.end_ns)};
}

// A time without gaps, and how its first work was launched, if that is known.
struct Busy : Interval {
  std::optional<Launch> launch;
};

// A union of intervals that are added in order of their starts. Memory for each that touches no other: the bytes of its
// length, of the gap before it and of its launch's times at 7 bits a byte (2 each where they are us), and a quarter
// byte.
class BusyTime {
 public:
  void Add(int64_t start_ns, int64_t end_ns, const std::optional<Launch>& launch = std::nullopt);
  bool empty() const { return !has_last_; }

  // Reads intervals in order.
  class Cursor {
   public:
    // At the first interval that ends after `time_ns`.
    Cursor(const BusyTime& busy, int64_t time_ns);
    bool is_valid() const { return is_valid_; }
    const Busy& interval() const { return interval_; }
    void Next();

   private:
    const BusyTime* busy_;
    size_t offset_ = 0;
    Busy interval_;
    bool is_valid_ = true;
    bool is_last_ = false;
  };

 private:
  // Where reading can start: `end_ns` is the end of the interval before.
  struct Block {
    int64_t end_ns;
    size_t offset;
  };

  void Append(const Busy& interval);

  std::vector<uint8_t> bytes_;  // all but the last
  std::vector<Block> blocks_;
  size_t count_ = 0;    // in bytes_
  int64_t end_ns_ = 0;  // of the last in bytes_
  bool has_last_ = false;
  Busy last_;
};

// A part of a span that no union covers.
struct Gap {
  Interval time;
  const Busy* next;  // what ends it, maybe behind the span; null: nothing comes. Valid in the call that is given it
};

struct Gaps {
  int64_t total_ns = 0;
  int64_t longest_ns = 0;
};

// All gaps of `span`, in order; none if `span` ends before it starts. Time: as GapsIn.
void ForEachGap(absl::Span<const BusyTime* const> unions, const Interval& span,
                absl::FunctionRef<void(const Gap&)> visit);

// The parts of `span` that none of `unions` covers; none if `span` ends before it starts. Time: logarithmic in the
// unions, linear in their intervals inside the span.
Gaps GapsIn(absl::Span<const BusyTime* const> unions, const Interval& span);

}  // namespace stallhound::analysis
