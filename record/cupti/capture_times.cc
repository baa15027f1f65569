#include "record/cupti/capture_times.h"

#include "capture/spool/bounded_lock.h"

namespace stallhound::record {

using capture::spool::BoundedLock;

void CaptureTimes::Begin(int64_t time_ns) noexcept {
  BoundedLock lock(lock_);
  if (!lock.held() || running_++ != 0) return;
  begin_ns_ = time_ns;
  last_end_ns_.store(INT64_MAX, std::memory_order_release);
}

void CaptureTimes::End(int64_t time_ns) noexcept {
  BoundedLock lock(lock_);
  if (!lock.held() || running_ == 0 || --running_ != 0) return;
  intervals_[count_++ % kKept] = {begin_ns_, time_ns};
  last_end_ns_.store(time_ns, std::memory_order_release);
}

bool CaptureTimes::Contains(int64_t time_ns) noexcept {
  if (time_ns > last_end_ns_.load(std::memory_order_acquire)) return false;
  BoundedLock lock(lock_);
  if (!lock.held()) return false;
  if (running_ != 0 && time_ns >= begin_ns_) return true;
  for (uint32_t i = 0; i < kKept && i < count_; ++i) {
    if (time_ns >= intervals_[i].begin_ns && time_ns <= intervals_[i].end_ns) return true;
  }
  return false;
}

void CaptureTimes::ForgetAfterFork() noexcept {
  lock_ = PTHREAD_MUTEX_INITIALIZER;
  running_ = 0;
  count_ = 0;
  last_end_ns_.store(INT64_MIN);
}

}  // namespace stallhound::record
