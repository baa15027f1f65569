// The half of SpoolWriter that writes dictionary records and lends activity buffers.

#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "capture/spool/bounded_lock.h"
#include "capture/spool/writer.h"

namespace stallhound::capture::spool {
namespace {

constexpr size_t kIdOffset = sizeof(RecordHeader);
constexpr size_t kKeyOffset = kIdOffset + sizeof(uint32_t);
// In the table's id of a thread: the thread itself has recorded.
constexpr uint32_t kTakenThread = uint32_t{1} << 31;

ChunkHeader* ChunkOf(uint8_t* body) { return reinterpret_cast<ChunkHeader*>(body) - 1; }

}  // namespace

const uint8_t* SpoolWriter::PutDictionary(RecordHeader* record, size_t bytes, const void* tail,
                                          size_t tail_bytes) noexcept {
  const uint32_t total = static_cast<uint32_t>((bytes + tail_bytes + 7) / 8 * 8);
  record->bytes = total;
  ChunkHeader* chunk = dictionary_chunk_;
  uint32_t used = chunk == nullptr ? 0 : chunk->committed_bytes.load(std::memory_order_relaxed);
  if (chunk == nullptr || used + total > BodyBytesOf(*chunk)) {
    const TakeResult taken = pool_.TakeDictionary(total);
    if (taken.chunk == nullptr) {
      Refused(taken.disk_full);
      return nullptr;
    }
    dictionary_chunk_ = chunk = taken.chunk;
    used = 0;
  }
  uint8_t* place = BodyOf(chunk) + used;
  memcpy(place, record, bytes);
  if (tail_bytes != 0) memcpy(place + bytes, tail, tail_bytes);
  memset(place + bytes + tail_bytes, 0, total - bytes - tail_bytes);
  chunk->committed_bytes.store(used + total, std::memory_order_release);
  return place;
}

bool SpoolWriter::AppendDictionary(RecordHeader* record, size_t bytes) noexcept {
  if (!EnsureOpen()) {
    Refused(false);
    return false;
  }
  BoundedLock lock(dictionary_lock_);
  return lock.held() && PutDictionary(record, bytes, nullptr, 0) != nullptr;
}

uint32_t SpoolWriter::InternRecord(RecordHeader* record, size_t bytes, const void* tail, size_t tail_bytes) noexcept {
  if (!EnsureOpen()) {
    Refused(false);
    return 0;
  }
  uint8_t* base = reinterpret_cast<uint8_t*>(record);
  const Piece key[] = {{base + kKeyOffset, bytes - kKeyOffset}, {tail, tail_bytes}};
  const size_t pieces = tail_bytes == 0 ? 1 : 2;
  const uint32_t kind = static_cast<uint32_t>(record->type);
  const uint64_t hash = HashPieces(kind, key, pieces);
  if (const uint32_t known = interner_.Find(hash, kind, key, pieces); known != 0) return known;
  BoundedLock lock(dictionary_lock_);
  if (!lock.held()) {
    CountLoss(LossCounter::kUnknownString);
    return 0;
  }
  if (const uint32_t known = interner_.Find(hash, kind, key, pieces); known != 0) return known;
  const uint32_t id = next_ids_[kind] + 1;
  memcpy(base + kIdOffset, &id, sizeof(id));
  const uint8_t* place = PutDictionary(record, bytes, tail, tail_bytes);
  if (place == nullptr) return 0;
  next_ids_[kind] = id;
  interner_.Insert(hash, kind, place + kKeyOffset, static_cast<uint32_t>(bytes - kKeyOffset + tail_bytes), id);
  return id;
}

uint32_t SpoolWriter::AddThread(int64_t tid, std::string_view name, bool is_caller) noexcept {
  const Piece key{&tid, sizeof(tid)};
  const uint32_t kind = static_cast<uint32_t>(RecordType::kThread);
  const uint64_t hash = HashPieces(kind, &key, 1);
  ThreadRecord record{};
  SetHeader(record);
  record.name = InternString(name);
  record.tid = tid;
  BoundedLock lock(dictionary_lock_);
  if (!lock.held() || generation() == 0) return 0;
  const uint32_t known = interner_.Find(hash, kind, &key, 1);
  // Whoever took the index before is dead: the system has given its id to the caller.
  const bool is_recycled = is_caller && (known & kTakenThread) != 0;
  const bool is_new = known == 0 || is_recycled;
  record.thread_index = is_new ? next_ids_[kind] + 1 : known & ~kTakenThread;
  const uint8_t* place = nullptr;
  // A thread knows its name better than /proc told when only its id was known.
  if (is_new || is_caller) {
    place = PutDictionary(&record.header, sizeof(record), nullptr, 0);
    if (place == nullptr) return 0;
    if (is_new) next_ids_[kind] = record.thread_index;
  }
  const uint32_t id = record.thread_index | (is_caller ? kTakenThread : known & kTakenThread);
  if (known == 0) {
    interner_.Insert(hash, kind, place + offsetof(ThreadRecord, tid), sizeof(tid), id);
  } else {
    interner_.Replace(hash, kind, &key, 1, id);
  }
  return record.thread_index;
}

uint32_t SpoolWriter::ThreadIndexOf(int64_t tid) noexcept {
  if (!EnsureOpen()) return 0;
  const Piece key{&tid, sizeof(tid)};
  const uint32_t kind = static_cast<uint32_t>(RecordType::kThread);
  if (const uint32_t known = interner_.Find(HashPieces(kind, &key, 1), kind, &key, 1); known != 0) {
    return known & ~kTakenThread;
  }
  char path[64];
  char name[32] = {};
  snprintf(path, sizeof(path), "/proc/self/task/%lld/comm", static_cast<long long>(tid));
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd >= 0) {
    const ssize_t length = read(fd, name, sizeof(name) - 1);
    close(fd);
    if (length > 0 && name[length - 1] == '\n') name[length - 1] = '\0';
  }
  return AddThread(tid, name, false);
}

uint32_t SpoolWriter::InternString(std::string_view text) noexcept {
  if (text.empty()) return 0;
  text = text.substr(0, kMaxStringBytes);
  StringRecord record{};
  record.length = static_cast<uint32_t>(text.size());
  return Intern(record, text.data(), text.size());
}

void SpoolWriter::AddKeyValue(std::string_view key, std::string_view value) noexcept {
  KeyValueRecord record{};
  record.key = InternString(key);
  record.value = InternString(value);
  if (record.key != 0) AddDictionary(record);
}

uint8_t* SpoolWriter::LendActivity(size_t* bytes) noexcept {
  *bytes = 0;
  const uint32_t thread_index = ThreadIndex();
  if (thread_index == 0) return nullptr;
  const TakeResult taken = pool_.TakeActivity(thread_index, now_ns_());
  if (taken.chunk == nullptr) {
    Refused(taken.disk_full);
    return nullptr;
  }
  *bytes = BodyBytesOf(*taken.chunk);
  return BodyOf(taken.chunk);
}

void SpoolWriter::DeliverActivity(uint8_t* buffer, size_t valid_bytes) noexcept {
  // A buffer that another tool lent to CUPTI before us comes back to us too; it is not ours to touch.
  if (!pool_.IsActivityBody(buffer)) return;
  ChunkHeader* chunk = ChunkOf(buffer);
  if (chunk->state.load(std::memory_order_acquire) != ActivityState::kLent) return;
  if (valid_bytes > BodyBytesOf(*chunk)) valid_bytes = BodyBytesOf(*chunk);
  chunk->committed_bytes.store(static_cast<uint32_t>(valid_bytes), std::memory_order_relaxed);
  chunk->last_ns.store(now_ns_(), std::memory_order_relaxed);
  chunk->state.store(ActivityState::kDelivered, std::memory_order_release);
  pool_.Deliver(chunk);
}

DeliveredActivity SpoolWriter::NextDelivered() noexcept {
  ChunkHeader* chunk = pool_.NextDelivered();
  if (chunk == nullptr) return {};
  return {chunk, BodyOf(chunk), chunk->committed_bytes.load(std::memory_order_acquire)};
}

void SpoolWriter::VisitLent(void (*visit)(void* context, const uint8_t* body, size_t bytes),
                            void* context) const noexcept {
  for (uint32_t i = 0;; ++i) {
    ChunkHeader* chunk = pool_.ActivityChunk(i);
    if (chunk == nullptr) return;
    if (chunk->state.load(std::memory_order_acquire) == ActivityState::kLent) {
      visit(context, BodyOf(chunk), BodyBytesOf(*chunk));
    }
  }
}

void SpoolWriter::MarkTranscribed(const DeliveredActivity& delivered, uint32_t bytes) noexcept {
  delivered.chunk->transcribed_bytes.store(bytes, std::memory_order_release);
}

void SpoolWriter::Recycle(const DeliveredActivity& delivered) noexcept {
  ChunkHeader* chunk = delivered.chunk;
  chunk->state.store(ActivityState::kTranscribed, std::memory_order_release);
  memset(BodyOf(chunk), 0, BodyBytesOf(*chunk));
  chunk->committed_bytes.store(0, std::memory_order_relaxed);
  chunk->transcribed_bytes.store(0, std::memory_order_relaxed);
  chunk->state.store(ActivityState::kIdle, std::memory_order_release);
  pool_.Recycle(chunk);
}

}  // namespace stallhound::capture::spool
