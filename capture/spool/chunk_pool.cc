#include "capture/spool/chunk_pool.h"

#include <string.h>

#include "capture/spool/bounded_lock.h"

namespace stallhound::capture::spool {
namespace {

constexpr uint64_t kAheadBytes = 1u << 20;
// The file starts with room for a dictionary, two threads and one activity buffer.
constexpr uint64_t kFirstBytes = kHeaderBytes + 7 * kUnitBytes;
constexpr uint64_t kSmallFirstBytes = kHeaderBytes + 2 * kUnitBytes;

uint64_t CountRecords(const ChunkHeader& chunk) {
  const uint8_t* body = reinterpret_cast<const uint8_t*>(&chunk + 1);
  const uint32_t end = chunk.committed_bytes.load(std::memory_order_relaxed);
  uint64_t count = 0;
  for (uint32_t at = 0; at + sizeof(RecordHeader) <= end; ++count) {
    RecordHeader header;
    memcpy(&header, body + at, sizeof(header));
    if (header.bytes < sizeof(header)) break;
    at += header.bytes;
  }
  return count;
}

}  // namespace

void AddLoss(LossSlot& slot, uint64_t count, int64_t first_ns, int64_t last_ns) noexcept {
  slot.count.fetch_add(count, std::memory_order_relaxed);
  int64_t first = slot.first_ns.load(std::memory_order_relaxed);
  while ((first == 0 || first_ns < first) && !slot.first_ns.compare_exchange_weak(first, first_ns)) {
  }
  int64_t last = slot.last_ns.load(std::memory_order_relaxed);
  while (last_ns > last && !slot.last_ns.compare_exchange_weak(last, last_ns)) {
  }
}

bool ChunkPool::Create(const char* directory, const uint8_t (&uuid)[16], const PoolOptions& options) noexcept {
  const uint64_t limit = options.max_bytes < kSmallFirstBytes ? kSmallFirstBytes : options.max_bytes;
  if (!file_.Create(directory, uuid, limit < kFirstBytes ? kSmallFirstBytes : kFirstBytes, limit, options.allocate) &&
      !file_.Create(directory, uuid, kSmallFirstBytes, limit, options.allocate)) {
    return false;
  }
  ring_ns_ = options.ring_ns;
  is_closed_ = false;
  header()->bytes_reserved.store(file_.reserved_bytes(), std::memory_order_relaxed);
  return true;
}

ChunkHeader* ChunkPool::At(uint64_t unit) const noexcept {
  return reinterpret_cast<ChunkHeader*>(file_.base() + kHeaderBytes + unit * kUnitBytes);
}

void ChunkPool::Push(List& list, ChunkHeader* chunk) noexcept {
  const uint64_t unit = (reinterpret_cast<uint8_t*>(chunk) - file_.base() - kHeaderBytes) / kUnitBytes;
  chunk->link = 0;
  if (list.tail != 0) At(list.tail - 1)->link = unit + 1;
  list.tail = unit + 1;
  if (list.head == 0) list.head = unit + 1;
}

ChunkHeader* ChunkPool::Pop(List& list) noexcept {
  if (list.head == 0) return nullptr;
  ChunkHeader* chunk = At(list.head - 1);
  list.head = chunk->link;
  if (list.head == 0) list.tail = 0;
  return chunk;
}

TakeResult ChunkPool::NewChunk(ChunkKind kind, uint32_t units, uint32_t thread_index) noexcept {
  if (is_closed_) return {};
  const ReserveResult reserved = file_.Reserve(kHeaderBytes + (units_used_ + units) * kUnitBytes);
  if (reserved == ReserveResult::kLimit && ring_ns_ == 0) is_full_.store(true, std::memory_order_relaxed);
  if (reserved != ReserveResult::kReserved) return {nullptr, reserved == ReserveResult::kDiskFull};
  ChunkHeader* chunk = At(units_used_);
  units_used_ += units;
  header()->bytes_reserved.store(file_.reserved_bytes(), std::memory_order_relaxed);
  chunk->kind = kind;
  chunk->unit_count = static_cast<uint16_t>(units);
  chunk->thread_index = thread_index;
  chunk->generation.store(1, std::memory_order_relaxed);
  // The magic last: a process that dies here leaves a unit that was never used.
  std::atomic_thread_fence(std::memory_order_release);
  chunk->magic = kChunkMagic;
  header()->units_used.store(units_used_, std::memory_order_release);
  return {chunk, false};
}

ChunkHeader* ChunkPool::ReuseOldest(uint32_t thread_index, LossCounter reason) noexcept {
  ChunkHeader* chunk = Pop(sealed_);
  if (chunk == nullptr) return nullptr;
  AddLoss(header()->losses[static_cast<int>(reason)], CountRecords(*chunk),
          chunk->first_ns.load(std::memory_order_relaxed), chunk->last_ns.load(std::memory_order_relaxed));
  chunk->committed_bytes.store(0, std::memory_order_release);
  chunk->generation.fetch_add(1, std::memory_order_release);
  chunk->first_ns.store(0, std::memory_order_relaxed);
  chunk->last_ns.store(0, std::memory_order_relaxed);
  chunk->thread_index = thread_index;
  return chunk;
}

TakeResult ChunkPool::TakeRecords(uint32_t thread_index, uint32_t bytes, int64_t now_ns) noexcept {
  BoundedLock lock(lock_);
  if (!lock.held() || is_closed_) return {};
  if (partial_.head != 0) {
    ChunkHeader* chunk = Pop(partial_);
    if (chunk->committed_bytes.load(std::memory_order_relaxed) + bytes <= BodyBytesOf(*chunk)) {
      chunk->thread_index = thread_index;
      return {chunk, false};
    }
    if (ring_ns_ != 0) Push(sealed_, chunk);
  }
  if (sealed_.head != 0 && At(sealed_.head - 1)->last_ns.load(std::memory_order_relaxed) < now_ns - ring_ns_) {
    return {ReuseOldest(thread_index, LossCounter::kRingOverwritten), false};
  }
  TakeResult result = NewChunk(ChunkKind::kRecords, 1, thread_index);
  if (result.chunk == nullptr) {
    const LossCounter reason = result.disk_full ? LossCounter::kDiskFull : LossCounter::kSpoolFull;
    ChunkHeader* oldest = ReuseOldest(thread_index, reason);
    if (oldest != nullptr) return {oldest, false};
  }
  return result;
}

void ChunkPool::Seal(ChunkHeader* chunk) noexcept {
  if (ring_ns_ == 0) return;
  BoundedLock lock(lock_);
  if (lock.held() && !is_closed_) Push(sealed_, chunk);
}

void ChunkPool::GiveBack(ChunkHeader* chunk) noexcept {
  BoundedLock lock(lock_);
  if (lock.held() && !is_closed_) Push(partial_, chunk);
}

TakeResult ChunkPool::TakeDictionary(uint32_t bytes) noexcept {
  BoundedLock lock(lock_);
  if (!lock.held()) return {};
  return NewChunk(ChunkKind::kDictionary, (bytes + sizeof(ChunkHeader) + kUnitBytes - 1) / kUnitBytes, 0);
}

TakeResult ChunkPool::TakeActivity(uint32_t thread_index, int64_t now_ns) noexcept {
  BoundedLock lock(lock_);
  if (!lock.held() || is_closed_) return {};
  TakeResult result;
  result.chunk = Pop(idle_);
  if (result.chunk == nullptr) {
    const uint32_t unit = static_cast<uint32_t>(units_used_);
    result = NewChunk(ChunkKind::kActivity, kActivityUnits, thread_index);
    if (result.chunk == nullptr) return result;
    const uint32_t count = activity_count_.load(std::memory_order_relaxed);
    if (count < kMaxListedActivity) {
      activity_units_[count] = unit;
      activity_count_.store(count + 1, std::memory_order_release);
    }
  }
  result.chunk->thread_index = thread_index;
  result.chunk->first_ns.store(now_ns, std::memory_order_relaxed);
  result.chunk->generation.fetch_add(1, std::memory_order_relaxed);
  result.chunk->state.store(ActivityState::kLent, std::memory_order_release);
  return result;
}

void ChunkPool::Deliver(ChunkHeader* chunk) noexcept {
  BoundedLock lock(lock_);
  if (lock.held() && file_.base() != nullptr) Push(delivered_, chunk);
}

ChunkHeader* ChunkPool::NextDelivered() noexcept {
  BoundedLock lock(lock_);
  return lock.held() ? Pop(delivered_) : nullptr;
}

ChunkHeader* ChunkPool::ActivityChunk(uint32_t i) const noexcept {
  return i < activity_count_.load(std::memory_order_acquire) ? At(activity_units_[i]) : nullptr;
}

void ChunkPool::Recycle(ChunkHeader* chunk) noexcept {
  BoundedLock lock(lock_);
  if (lock.held() && file_.base() != nullptr) Push(idle_, chunk);
}

bool ChunkPool::IsActivityBody(const uint8_t* body) const noexcept {
  const uint8_t* first = file_.base() + kHeaderBytes + sizeof(ChunkHeader);
  if (file_.base() == nullptr || body < first) return false;
  const uint64_t offset = static_cast<uint64_t>(body - first);
  if (offset % kUnitBytes != 0 || offset / kUnitBytes >= header()->units_used.load(std::memory_order_acquire)) {
    return false;
  }
  const ChunkHeader* chunk = At(offset / kUnitBytes);
  return chunk->magic == kChunkMagic && chunk->kind == ChunkKind::kActivity;
}

void ChunkPool::ReserveAhead() noexcept {
  BoundedLock lock(lock_);
  if (!lock.held() || is_closed_) return;
  const uint64_t wanted = kHeaderBytes + units_used_ * kUnitBytes + kAheadBytes;
  if (wanted > file_.mapped_bytes() || file_.reserved_bytes() >= wanted) return;
  file_.Reserve(wanted);
  header()->bytes_reserved.store(file_.reserved_bytes(), std::memory_order_relaxed);
}

void ChunkPool::Close() noexcept {
  BoundedLock lock(lock_);
  if (!lock.held() || is_closed_) return;
  is_closed_ = true;
  file_.Shrink(kHeaderBytes + units_used_ * kUnitBytes);
  header()->bytes_reserved.store(file_.reserved_bytes(), std::memory_order_relaxed);
}

void ChunkPool::ForgetAfterFork() noexcept {
  lock_ = PTHREAD_MUTEX_INITIALIZER;
  file_.Forget();
  units_used_ = 0;
  activity_count_.store(0, std::memory_order_relaxed);
  is_full_.store(false, std::memory_order_relaxed);
  is_closed_ = true;
  sealed_ = partial_ = idle_ = delivered_ = List();
}

}  // namespace stallhound::capture::spool
