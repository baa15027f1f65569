#include "capture/spool/thread_slots.h"

#include <sys/mman.h>

#include "capture/spool/bounded_lock.h"
#include "capture/spool/writer.h"

namespace stallhound::capture::spool {
namespace {

// Initial-exec: the dynamic model would call malloc at a thread's first access.
__attribute__((tls_model("initial-exec"))) thread_local ThreadSlot* t_slot = nullptr;
__attribute__((tls_model("initial-exec"))) thread_local ThreadIdentity t_identity = {};

pthread_mutex_t g_lock = PTHREAD_MUTEX_INITIALIZER;
std::atomic<ThreadSlot*> g_slots{nullptr};
pthread_once_t g_key_once = PTHREAD_ONCE_INIT;
pthread_key_t g_key;
bool g_has_key = false;

constexpr size_t kBlockBytes = 65536;

}  // namespace

ThreadSlot* ThreadSlots::Current() noexcept { return t_slot; }

ThreadIdentity& ThreadSlots::Identity() noexcept { return t_identity; }

ThreadSlot* ThreadSlots::All() noexcept { return g_slots.load(std::memory_order_acquire); }

void ThreadSlots::MakeKey() noexcept { g_has_key = pthread_key_create(&g_key, OnThreadExit) == 0; }

ThreadSlot* ThreadSlots::Reuse() noexcept {
  for (ThreadSlot* slot = All(); slot != nullptr; slot = slot->next) {
    if (slot->is_free) return slot;
  }
  return nullptr;
}

ThreadSlot* ThreadSlots::Map() noexcept {
  void* page = mmap(nullptr, kBlockBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return nullptr;
  ThreadSlot* slots = static_cast<ThreadSlot*>(page);
  constexpr size_t kCount = kBlockBytes / sizeof(ThreadSlot);
  for (size_t i = 0; i < kCount; ++i) {
    slots[i].is_free = true;
    slots[i].next = i + 1 < kCount ? &slots[i + 1] : g_slots.load(std::memory_order_relaxed);
  }
  g_slots.store(slots, std::memory_order_release);
  return slots;
}

ThreadSlot* ThreadSlots::Create() noexcept {
  pthread_once(&g_key_once, MakeKey);
  BoundedLock lock(g_lock);
  if (!lock.held()) return nullptr;
  ThreadSlot* slot = Reuse();
  if (slot == nullptr) slot = Map();
  if (slot == nullptr) return nullptr;
  slot->is_free = false;
  slot->writer = nullptr;
  if (g_has_key) pthread_setspecific(g_key, slot);
  t_slot = slot;
  return slot;
}

void ThreadSlots::OnThreadExit(void* memory) noexcept {
  ThreadSlot* slot = static_cast<ThreadSlot*>(memory);
  t_slot = nullptr;
  BoundedLock lock(g_lock);
  if (!lock.held()) return;
  if (slot->writer != nullptr) slot->writer->Release(*slot);
  slot->is_free = true;
}

void ThreadSlots::Detach(const SpoolWriter* writer) noexcept {
  BoundedLock lock(g_lock);
  for (ThreadSlot* slot = All(); slot != nullptr; slot = slot->next) {
    if (slot->writer != writer) continue;
    slot->generation.store(0, std::memory_order_relaxed);
    slot->chunk.store(nullptr, std::memory_order_relaxed);
    slot->used = slot->capacity = 0;
    slot->writer = nullptr;
  }
}

void ThreadSlots::ForgetAfterFork() noexcept {
  g_lock = PTHREAD_MUTEX_INITIALIZER;
  for (ThreadSlot* slot = All(); slot != nullptr; slot = slot->next) {
    slot->generation.store(0, std::memory_order_relaxed);
    slot->chunk.store(nullptr, std::memory_order_relaxed);
    slot->used = slot->capacity = 0;
    slot->writer = nullptr;
    slot->is_free = slot != t_slot;
  }
}

}  // namespace stallhound::capture::spool
