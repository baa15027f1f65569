#include "record/stacks/thread_stacks.h"

#include <pthread.h>

#include <atomic>

#include "record/stacks/arena.h"

namespace stallhound::record {
namespace {

// Initial-exec: reading it must not allocate, as other thread-local storage of a loaded library would at first use.
__attribute__((tls_model("initial-exec"))) thread_local ThreadStacks* current = nullptr;

// Exited threads' memory. A spin lock: held for a few loads and stores only, and usable again after a fork.
std::atomic_flag free_lock = ATOMIC_FLAG_INIT;
ThreadStacks* free_list = nullptr;
pthread_key_t exit_key;
pthread_once_t exit_key_once = PTHREAD_ONCE_INIT;

void Release(void* thread_stacks) {
  auto* released = static_cast<ThreadStacks*>(thread_stacks);
  current = nullptr;
  while (free_lock.test_and_set(std::memory_order_acquire)) {
  }
  released->next_free = free_list;
  free_list = released;
  free_lock.clear(std::memory_order_release);
}

void CreateExitKey() { pthread_key_create(&exit_key, Release); }

ThreadStacks* Acquire() {
  while (free_lock.test_and_set(std::memory_order_acquire)) {
  }
  ThreadStacks* reused = free_list;
  if (reused != nullptr) free_list = reused->next_free;
  free_lock.clear(std::memory_order_release);
  return reused != nullptr ? reused : static_cast<ThreadStacks*>(MapPages(sizeof(ThreadStacks)));
}

}  // namespace

uint32_t StackIds::Find(uint64_t hash) const {
  for (size_t i = hash % kSlots; slots_[i].stack_id != 0; i = (i + 1) % kSlots) {
    if (slots_[i].hash == hash) return slots_[i].stack_id;
  }
  return 0;
}

void StackIds::Add(uint64_t hash, uint32_t stack_id) {
  if (used_ >= kMaxUsed) memset(this, 0, sizeof(*this));
  size_t i = hash % kSlots;
  while (slots_[i].stack_id != 0) i = (i + 1) % kSlots;
  slots_[i] = {hash, stack_id};
  ++used_;
}

void UnlockThreadStacksInChild() { free_lock.clear(std::memory_order_release); }

ThreadStacks* CurrentThreadStacks(const StackRecorder* owner, uint64_t generation) {
  ThreadStacks* thread = current;
  if (thread == nullptr) {
    thread = Acquire();
    if (thread == nullptr) return nullptr;
    current = thread;
    pthread_once(&exit_key_once, CreateExitKey);
    pthread_setspecific(exit_key, thread);
  }
  if (thread->owner != owner || thread->generation != generation) {
    // Fresh pages are zero: leave them untouched.
    if (thread->owner != nullptr) memset(static_cast<void*>(thread), 0, sizeof(*thread));
    thread->owner = owner;
    thread->generation = generation;
  }
  return thread;
}

}  // namespace stallhound::record
