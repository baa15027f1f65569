#pragma once

// The host call behind each piece of GPU work, by CUPTI's correlation id.

#include <absl/container/flat_hash_map.h>

#include <cstdint>
#include <vector>

#include "capture/spool/time_difference.h"

namespace stallhound::capture::spool {

struct Launch {
  int64_t start_ns = 0;  // CLOCK_MONOTONIC_RAW
  uint32_t duration_ns = 0;
  uint32_t thread_index : 30 = 0;     // 0: no such launch
  uint32_t is_kernel_launch : 1 = 0;  // and it succeeded: one kernel is to be expected, unless a graph captured it
  uint32_t has_work : 1 = 0;          // GPU work of it was seen

  int64_t end_ns() const { return TimeDifference(start_ns, -int64_t{duration_ns}); }
};

// Correlation ids count up, so most lie in one dense array: 16 bytes a launch.
class LaunchTable {
 public:
  // A runtime call and the driver call inside it share one id: the outer one stays.
  void Add(uint32_t correlation_id, const Launch& launch) {
    ++count_;
    Launch& slot = Slot(correlation_id);
    const bool is_outer = launch.start_ns <= slot.start_ns && launch.end_ns() >= slot.end_ns();
    if (slot.thread_index == 0 || is_outer) slot = launch;
  }
  // Null if unknown.
  const Launch* Find(uint32_t correlation_id) const { return const_cast<LaunchTable*>(this)->FindSlot(correlation_id); }
  // The same, and notes that its GPU work was seen.
  const Launch* FindForWork(uint32_t correlation_id) {
    Launch* launch = FindSlot(correlation_id);
    if (launch != nullptr) launch->has_work = 1;
    return launch;
  }
  template <typename Visit>
  void ForEach(Visit&& visit) const {
    for (const Launch& launch : dense_) {
      if (launch.thread_index != 0) visit(launch);
    }
    for (const auto& [id, launch] : sparse_) visit(launch);
  }

 private:
  static constexpr size_t kSlack = 1 << 20;

  Launch* FindSlot(uint32_t correlation_id) {
    if (correlation_id < dense_.size()) {
      return dense_[correlation_id].thread_index == 0 ? nullptr : &dense_[correlation_id];
    }
    const auto it = sparse_.find(correlation_id);
    return it == sparse_.end() ? nullptr : &it->second;
  }

  Launch& Slot(uint32_t correlation_id) {
    if (correlation_id < dense_.size()) return dense_[correlation_id];
    if (correlation_id > 4 * count_ + kSlack) return sparse_[correlation_id];
    dense_.resize(correlation_id + correlation_id / 8 + 1024);
    for (auto it = sparse_.begin(); it != sparse_.end();) {
      auto current = it++;
      if (current->first >= dense_.size()) continue;
      dense_[current->first] = current->second;
      sparse_.erase(current);
    }
    return dense_[correlation_id];
  }

  std::vector<Launch> dense_;
  absl::flat_hash_map<uint32_t, Launch> sparse_;
  size_t count_ = 0;
};

}  // namespace stallhound::capture::spool
