#pragma once

// Range events (push, pop, start, end, mark) of one process, paired.

#include <cstdint>
#include <optional>
#include <vector>

#include "capture/spool/format.h"
#include "capture/types.h"

namespace stallhound::capture::spool {

struct PairedRange {
  const RangeRecord* begin = nullptr;  // the push, start or mark
  std::optional<int64_t> end_ns;       // raw clock; null: still open at the end
  RangeKind kind = RangeKind::kPushPop;
};

struct PairedRanges {
  std::vector<PairedRange> ranges;  // by start
  int64_t unbalanced_count = 0;     // pops without a push, ends without a start
  int64_t open_count = 0;
};

// Pushes and pops nest per thread and domain; starts and ends match by range id. `records` must outlive the result.
PairedRanges PairRanges(const std::vector<RangeRecord>& records);

}  // namespace stallhound::capture::spool
