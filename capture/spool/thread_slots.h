#pragma once

// What a thread keeps between two records: its place in the spool. A thread-local pointer into memory that is mapped,
// never malloc'ed, and used again by later threads, and which thread it is. Shared by all writers of the process. std
// only.

#include <pthread.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "capture/spool/format.h"

namespace stallhound::capture::spool {

class SpoolWriter;

inline constexpr size_t kThreadMemoryBytes = 512;

struct ThreadSlot {
  std::atomic<uint64_t> generation;  // the file that the rest belongs to; 0: none
  SpoolWriter* writer;
  std::atomic<ChunkHeader*> chunk;  // null: none yet
  uint32_t used;                    // of its body
  uint32_t capacity;
  uint32_t thread_index;
  bool is_free;
  ThreadSlot* next;                               // all slots ever made
  alignas(8) uint8_t memory[kThreadMemoryBytes];  // the recorder's, zeroed for each thread and file
};

// Which thread of which file the calling thread is. Outlives its slot: destructors of other libraries' thread-local
// data may still record.
struct ThreadIdentity {
  uint64_t generation;  // 0: none
  uint32_t thread_index;
};

class ThreadSlots {
 public:
  // The calling thread's; zero in every new thread.
  static ThreadIdentity& Identity() noexcept;
  // The calling thread's slot; null if it has none yet.
  static ThreadSlot* Current() noexcept;
  // Gives the calling thread a slot. Null: out of memory.
  static ThreadSlot* Create() noexcept;
  // Every slot, in use or not; walk by `next`.
  static ThreadSlot* All() noexcept;
  // Makes slots forget `writer`, which goes away.
  static void Detach(const SpoolWriter* writer) noexcept;
  // In a forked child: only the calling thread's slot is in use.
  static void ForgetAfterFork() noexcept;

 private:
  static ThreadSlot* Reuse() noexcept;
  static ThreadSlot* Map() noexcept;
  static void MakeKey() noexcept;
  static void OnThreadExit(void* slot) noexcept;
};

}  // namespace stallhound::capture::spool
