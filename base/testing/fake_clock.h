#pragma once

#include <cstdint>

#include "base/clock.h"

namespace stallhound::testing {

// Stands still until it is told otherwise. Not thread-safe.
class FakeClock : public Clock {
 public:
  // 2026-01-01 00:00:00 UTC.
  static constexpr int64_t kStartRealtimeNs = 1'767'225'600'000'000'000;

  int64_t MonotonicNs() const override { return elapsed_ns_; }
  int64_t RealtimeNs() const override { return kStartRealtimeNs + elapsed_ns_; }
  void Advance(int64_t duration_ns) { elapsed_ns_ += duration_ns; }

 private:
  int64_t elapsed_ns_ = 0;
};

}  // namespace stallhound::testing
