#pragma once

#include <cstdint>

namespace stallhound::capture::spool {

// later_ns - earlier_ns of times from a file. A damaged one holds any bits, so overflow wraps instead of being
// undefined.
inline int64_t TimeDifference(int64_t later_ns, int64_t earlier_ns) {
  return static_cast<int64_t>(static_cast<uint64_t>(later_ns) - static_cast<uint64_t>(earlier_ns));
}

}  // namespace stallhound::capture::spool
