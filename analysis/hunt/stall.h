#pragma once

#include <cstdint>
#include <optional>

namespace stallhound::analysis {

// What one stall cost; the parts as in Cost (report.h).
struct Stall {
  int64_t blocked_ns = 0;
  // Null: no GPU work of the thread followed.
  std::optional<int64_t> idle_ns;
  std::optional<int64_t> idle_compute_ns;
  int64_t idle_blocked_ns = 0;
  int64_t idle_return_ns = 0;
  int64_t idle_host_ns = 0;
  int64_t idle_launch_ns = 0;
  int64_t own_ns = 0;  // idle that recording caused, taken off the parts above
};

// What one sync point cost.
struct PointCost {
  std::optional<Stall> stall;  // null: it did not block, or
  bool is_unknown = false;     // it may have: what it waited for is not recorded
};

}  // namespace stallhound::analysis
