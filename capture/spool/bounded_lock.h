#pragma once

// A mutex that is never waited for longer than a second: a thread that was interrupted or lost while it held the lock
// must not hang the profiled program. std only.

#include <pthread.h>
#include <time.h>

namespace stallhound::capture::spool {

class BoundedLock {
 public:
  explicit BoundedLock(pthread_mutex_t& mutex) noexcept : mutex_(mutex) {
    held_ = pthread_mutex_trylock(&mutex) == 0;
    if (held_) return;
    timespec deadline{};
    clock_gettime(CLOCK_REALTIME, &deadline);
    deadline.tv_sec += 1;
    held_ = pthread_mutex_timedlock(&mutex, &deadline) == 0;
  }
  ~BoundedLock() {
    if (held_) pthread_mutex_unlock(&mutex_);
  }
  BoundedLock(const BoundedLock&) = delete;
  BoundedLock& operator=(const BoundedLock&) = delete;

  bool held() const { return held_; }

 private:
  pthread_mutex_t& mutex_;
  bool held_;
};

}  // namespace stallhound::capture::spool
