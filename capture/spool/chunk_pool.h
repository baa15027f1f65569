#pragma once

// Hands out the chunks of a spool file (format.h) and takes them back: the ring, the activity buffers and what threads
// that ended left half full. std only, no malloc. Thread-safe by one lock with a bounded wait, taken once per chunk.

#include <pthread.h>

#include <cstdint>

#include "capture/spool/format.h"
#include "capture/spool/spool_file.h"

namespace stallhound::capture::spool {

inline constexpr uint32_t kActivityBodyBytes = kActivityUnits * kUnitBytes - sizeof(ChunkHeader);

inline constexpr uint32_t kMaxListedActivity = 2048;

inline uint8_t* BodyOf(ChunkHeader* chunk) { return reinterpret_cast<uint8_t*>(chunk + 1); }
inline uint32_t BodyBytesOf(const ChunkHeader& chunk) { return chunk.unit_count * kUnitBytes - sizeof(ChunkHeader); }

struct PoolOptions {
  uint64_t max_bytes = 0;
  int64_t ring_ns = 0;
  AllocateFunction allocate = nullptr;
};

// A chunk, or why there is none. `disk_full` is final.
struct TakeResult {
  ChunkHeader* chunk = nullptr;
  bool disk_full = false;
};

class ChunkPool {
 public:
  // Creates the file; its header is zero but for sizes.
  bool Create(const char* directory, const uint8_t (&uuid)[16], const PoolOptions& options) noexcept;

  // A chunk for one thread's event records, with room for `bytes` more. Reuses, in this order: what an ended thread
  // left, chunks older than the ring, new units; when there are none and the ring is on, the oldest chunk, counted as
  // lost.
  TakeResult TakeRecords(uint32_t thread_index, uint32_t bytes, int64_t now_ns) noexcept;
  // A full chunk: with the ring it may be used again later.
  void Seal(ChunkHeader* chunk) noexcept;
  // A chunk with room left, whose thread has ended.
  void GiveBack(ChunkHeader* chunk) noexcept;

  // A dictionary chunk that holds a record of `bytes`.
  TakeResult TakeDictionary(uint32_t bytes) noexcept;

  // Activity buffers; a taken one is zeroed and kLent.
  TakeResult TakeActivity(uint32_t thread_index, int64_t now_ns) noexcept;
  void Deliver(ChunkHeader* chunk) noexcept;
  ChunkHeader* NextDelivered() noexcept;
  // The i-th activity buffer ever made, lent or not; null: there are not so many, or none is listed behind
  // kMaxListedActivity. Lock-free.
  ChunkHeader* ActivityChunk(uint32_t i) const noexcept;
  void Recycle(ChunkHeader* chunk) noexcept;
  // Whether `body` is the body of one of this file's activity chunks. Lock-free.
  bool IsActivityBody(const uint8_t* body) const noexcept;

  // Reserves some space ahead of need.
  void ReserveAhead() noexcept;
  // No more chunks; gives back what was reserved and not used.
  void Close() noexcept;
  void ForgetAfterFork() noexcept;
  void Unmap() noexcept { file_.Unmap(); }

  // The size limit was hit: event records were lost.
  bool is_full() const noexcept { return is_full_.load(std::memory_order_relaxed); }
  FileHeader* header() const noexcept { return reinterpret_cast<FileHeader*>(file_.base()); }
  const SpoolFile& file() const noexcept { return file_; }

 private:
  // A queue through ChunkHeader::link, which holds unit number + 1.
  struct List {
    uint64_t head = 0;
    uint64_t tail = 0;
  };

  ChunkHeader* At(uint64_t unit) const noexcept;
  void Push(List& list, ChunkHeader* chunk) noexcept;
  ChunkHeader* Pop(List& list) noexcept;
  TakeResult NewChunk(ChunkKind kind, uint32_t units, uint32_t thread_index) noexcept;
  ChunkHeader* ReuseOldest(uint32_t thread_index, LossCounter reason) noexcept;

  SpoolFile file_;
  pthread_mutex_t lock_ = PTHREAD_MUTEX_INITIALIZER;
  int64_t ring_ns_ = 0;
  uint64_t units_used_ = 0;
  std::atomic<bool> is_full_{false};
  bool is_closed_ = true;
  List sealed_;     // full kRecords chunks, oldest first; with the ring only
  List partial_;    // kRecords chunks of ended threads
  List idle_;       // kActivity
  List delivered_;  // kActivity
  std::atomic<uint32_t> activity_count_{0};
  uint32_t activity_units_[kMaxListedActivity] = {};
};

// Adds to a loss slot; lock-free.
void AddLoss(LossSlot& slot, uint64_t count, int64_t first_ns, int64_t last_ns) noexcept;

}  // namespace stallhound::capture::spool
