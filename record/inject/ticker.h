#pragma once

// The recorder's own thread: calls a function every so often until told to stop, with all signals blocked, so that the
// program's handlers never run on it.

#include <pthread.h>

#include <cstdint>

namespace stallhound::record {

class Ticker {
 public:
  // `tick` returns after how many ns it wants to be called again. `finish` is the last call on the thread.
  struct Work {
    void* context = nullptr;
    int64_t (*tick)(void* context) = nullptr;
    void (*finish)(void* context) = nullptr;
  };

  // Starts the thread; does nothing if it runs. False: no thread could be had.
  bool Start(const Work& work) noexcept;
  // Has `tick` called now and waits for its end, at most `limit_ns`. False: it took longer, or no thread runs.
  bool TickNow(int64_t limit_ns) noexcept;
  // Has `finish` called on the thread, or here if there is none, and waits for it, at most `limit_ns`. False: it took
  // longer; the thread may still be in it. Later calls do nothing.
  bool Finish(int64_t limit_ns) noexcept;
  // In the child of a fork: the thread is gone.
  void ForgetAfterFork() noexcept;

 private:
  static void* Run(void* self) noexcept;
  void Loop() noexcept;

  Work work_;
  pthread_mutex_t lock_ = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t changed_;
  bool has_thread_ = false;
  bool is_stopping_ = false;
  bool is_finished_ = false;
  uint64_t asked_ticks_ = 0;
  uint64_t answered_ticks_ = 0;
};

}  // namespace stallhound::record
