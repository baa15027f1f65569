#include "base/clock.h"

#include <absl/time/time.h>
#include <time.h>

namespace stallhound {
namespace {

int64_t Now(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

class MachineClock : public Clock {
 public:
  int64_t MonotonicNs() const override { return Now(CLOCK_MONOTONIC_RAW); }
  int64_t RealtimeNs() const override { return Now(CLOCK_REALTIME); }
};

}  // namespace

const Clock& SystemClock() {
  static const MachineClock clock;
  return clock;
}

std::string FormatUtc(int64_t realtime_ns) {
  return absl::FormatTime("%Y-%m-%d %H:%M:%S", absl::FromUnixNanos(realtime_ns), absl::UTCTimeZone());
}

}  // namespace stallhound
