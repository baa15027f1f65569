#pragma once

// When the program captured CUDA graphs: a launch inside a capture runs nothing, so no kernel is to be expected of it.

#include <pthread.h>

#include <atomic>
#include <cstdint>

namespace stallhound::record {

class CaptureTimes {
 public:
  void Begin(int64_t time_ns) noexcept;
  void End(int64_t time_ns) noexcept;
  // Whether some stream of the process was being captured then. Knows the last kKept captures.
  bool Contains(int64_t time_ns) noexcept;
  void ForgetAfterFork() noexcept;

 private:
  static constexpr int kKept = 256;
  struct Interval {
    int64_t begin_ns;
    int64_t end_ns;
  };

  pthread_mutex_t lock_ = PTHREAD_MUTEX_INITIALIZER;
  std::atomic<int64_t> last_end_ns_{INT64_MIN};  // INT64_MAX while a capture runs
  int running_ = 0;
  int64_t begin_ns_ = 0;
  uint32_t count_ = 0;
  Interval intervals_[kKept] = {};
};

}  // namespace stallhound::record
