#pragma once

// The host call behind each piece of GPU work, by CUPTI's correlation id.

#include <absl/container/flat_hash_map.h>

#include <cstdint>
#include <vector>

namespace stallhound::capture::spool {

struct Launch {
  int64_t start_ns = 0;  // CLOCK_MONOTONIC_RAW
  uint32_t duration_ns = 0;
  uint32_t thread_index = 0;  // 0: no such launch
};

// Correlation ids count up, so most lie in one dense array: 16 bytes a launch.
class LaunchTable {
 public:
  // The first call of an id stays: a runtime call and the driver call inside it may share one.
  void Add(uint32_t correlation_id, const Launch& launch) {
    ++count_;
    Launch& slot = Slot(correlation_id);
    if (slot.thread_index == 0) slot = launch;
  }
  // Null if unknown.
  const Launch* Find(uint32_t correlation_id) const {
    if (correlation_id < dense_.size()) {
      return dense_[correlation_id].thread_index == 0 ? nullptr : &dense_[correlation_id];
    }
    const auto it = sparse_.find(correlation_id);
    return it == sparse_.end() ? nullptr : &it->second;
  }

 private:
  static constexpr size_t kSlack = 1 << 20;

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
