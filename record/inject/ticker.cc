#include "record/inject/ticker.h"

#include <signal.h>
#include <sys/prctl.h>
#include <time.h>

namespace stallhound::record {
namespace {

constexpr size_t kStackBytes = 1 << 20;
constexpr int64_t kSecondNs = 1'000'000'000;

timespec Deadline(int64_t after_ns) {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  const int64_t deadline_ns = now.tv_nsec + after_ns % kSecondNs;
  return {static_cast<time_t>(now.tv_sec + after_ns / kSecondNs + deadline_ns / kSecondNs),
          static_cast<long>(deadline_ns % kSecondNs)};
}

// The condition's clock must not jump with the wall clock.
void InitialiseCondition(pthread_cond_t& condition) {
  pthread_condattr_t attributes;
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_cond_init(&condition, &attributes);
  pthread_condattr_destroy(&attributes);
}

}  // namespace

bool Ticker::Start(const Work& work) noexcept {
  pthread_mutex_lock(&lock_);
  if (has_thread_ || is_stopping_) {
    pthread_mutex_unlock(&lock_);
    return true;
  }
  work_ = work;
  InitialiseCondition(changed_);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_attr_setstacksize(&attributes, kStackBytes);
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread;
  has_thread_ = pthread_create(&thread, &attributes, Run, this) == 0;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_attr_destroy(&attributes);
  const bool has_thread = has_thread_;
  pthread_mutex_unlock(&lock_);
  return has_thread;
}

void* Ticker::Run(void* self) noexcept {
  prctl(PR_SET_NAME, "stallhound");
  static_cast<Ticker*>(self)->Loop();
  return nullptr;
}

void Ticker::Loop() noexcept {
  pthread_mutex_lock(&lock_);
  while (!is_stopping_) {
    const uint64_t asked_ticks = asked_ticks_;
    pthread_mutex_unlock(&lock_);
    const timespec deadline = Deadline(work_.tick(work_.context));
    pthread_mutex_lock(&lock_);
    answered_ticks_ = asked_ticks;
    pthread_cond_broadcast(&changed_);
    int error = 0;
    while (!is_stopping_ && asked_ticks_ == answered_ticks_ && error == 0) {
      error = pthread_cond_timedwait(&changed_, &lock_, &deadline);
    }
  }
  pthread_mutex_unlock(&lock_);
  work_.finish(work_.context);
  pthread_mutex_lock(&lock_);
  is_finished_ = true;
  pthread_cond_broadcast(&changed_);
  pthread_mutex_unlock(&lock_);
}

bool Ticker::TickNow(int64_t limit_ns) noexcept {
  pthread_mutex_lock(&lock_);
  const timespec deadline = Deadline(limit_ns);
  const uint64_t tick = ++asked_ticks_;
  if (has_thread_) pthread_cond_broadcast(&changed_);
  int error = 0;
  while (has_thread_ && !is_stopping_ && answered_ticks_ < tick && error == 0) {
    error = pthread_cond_timedwait(&changed_, &lock_, &deadline);
  }
  const bool is_answered = answered_ticks_ >= tick;
  pthread_mutex_unlock(&lock_);
  return is_answered;
}

bool Ticker::Finish(int64_t limit_ns) noexcept {
  pthread_mutex_lock(&lock_);
  if (is_stopping_) {
    pthread_mutex_unlock(&lock_);
    return true;
  }
  is_stopping_ = true;
  if (!has_thread_) {
    pthread_mutex_unlock(&lock_);
    if (work_.finish != nullptr) work_.finish(work_.context);
    return true;
  }
  pthread_cond_broadcast(&changed_);
  const timespec deadline = Deadline(limit_ns);
  int error = 0;
  while (!is_finished_ && error == 0) error = pthread_cond_timedwait(&changed_, &lock_, &deadline);
  const bool is_finished = is_finished_;
  pthread_mutex_unlock(&lock_);
  return is_finished;
}

void Ticker::ForgetAfterFork() noexcept {
  lock_ = PTHREAD_MUTEX_INITIALIZER;
  has_thread_ = false;
  is_stopping_ = false;
  is_finished_ = false;
  asked_ticks_ = 0;
  answered_ticks_ = 0;
}

}  // namespace stallhound::record
