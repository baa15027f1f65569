#pragma once

// The time, as something that tests can replace (base/testing/fake_clock.h).

#include <cstdint>
#include <string>

namespace stallhound {

// Thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;
  // ns since an unspecified start; never goes back. For durations.
  virtual int64_t MonotonicNs() const = 0;
  // ns since 1970-01-01 UTC; may jump. For dates.
  virtual int64_t RealtimeNs() const = 0;
};

// The machine's clocks (CLOCK_MONOTONIC_RAW and CLOCK_REALTIME). Lives for ever.
const Clock& SystemClock();

// "2026-11-30 04:47:37", in UTC.
std::string FormatUtc(int64_t realtime_ns);

}  // namespace stallhound
