#pragma once

// The recorder's one clock. std only.

#include <time.h>

#include <cstdint>

namespace stallhound::capture::spool {

// CLOCK_MONOTONIC_RAW in ns: stamps host records, NVTX ranges and, through CUPTI's timestamp callback, GPU records. It
// is not slewed by NTP. About 23 ns a call.
inline int64_t RawNowNs() noexcept {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC_RAW, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

// CLOCK_REALTIME in ns: aligns processes and machines.
inline int64_t RealtimeNowNs() noexcept {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

}  // namespace stallhound::capture::spool
