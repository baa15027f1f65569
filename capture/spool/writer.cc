#include "capture/spool/writer.h"

#include <errno.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "capture/spool/bounded_lock.h"
#include "capture/spool/thread_slots.h"

namespace stallhound::capture::spool {
namespace {

std::atomic<uint64_t> g_last_generation{0};

void FillRandom(uint8_t (&bytes)[16]) {
  if (getrandom(bytes, sizeof(bytes), GRND_NONBLOCK) == static_cast<ssize_t>(sizeof(bytes))) return;
  // Early at boot there may be no randomness yet; unique is enough, O_EXCL guards the name.
  const uint64_t words[2] = {static_cast<uint64_t>(RawNowNs()) * 0x9e3779b97f4a7c15ull,
                             (static_cast<uint64_t>(getpid()) << 32) ^ reinterpret_cast<uintptr_t>(&bytes)};
  memcpy(bytes, words, sizeof(bytes));
}

void CopyText(char* target, size_t bytes, const char* text) {
  const size_t length = strnlen(text, bytes - 1);
  memcpy(target, text, length);
  target[length] = '\0';
}

}  // namespace

int64_t CallerTid() noexcept { return syscall(SYS_gettid); }

SpoolWriter::~SpoolWriter() {
  generation_.store(0);
  ThreadSlots::Detach(this);
  pool_.Unmap();
}

bool SpoolWriter::Configure(const WriterOptions& options) noexcept {
  if (options.directory == nullptr || strlen(options.directory) >= sizeof(directory_)) return false;
  CopyText(directory_, sizeof(directory_), options.directory);
  CopyText(version_, sizeof(version_), options.recorder_version);
  options_ = options;
  options_.directory = directory_;
  options_.recorder_version = version_;
  now_ns_ = options.now_ns;
  pending_.mode = options.mode;
  state_.store(State::kReady, std::memory_order_release);
  return true;
}

bool SpoolWriter::is_stopped() const noexcept {
  return state_.load(std::memory_order_relaxed) == State::kStopped || pool_.is_full();
}

void SpoolWriter::FillHeader(FileHeader& header, const uint8_t (&uuid)[16]) noexcept {
  memcpy(static_cast<void*>(&header), &pending_, sizeof(header));
  memset(static_cast<void*>(header.losses), 0, sizeof(header.losses));
  memcpy(header.magic, kFileMagic, sizeof(header.magic));
  header.version = kFormatVersion;
  header.header_bytes = kHeaderBytes;
  header.unit_bytes = kUnitBytes;
  header.mode = options_.mode;
  memcpy(header.uuid, uuid, sizeof(header.uuid));
  header.pid = getpid();
  header.parent_pid = getppid();
  header.open_ns = now_ns_();
  header.open_realtime_ns = RealtimeNowNs();
  header.max_bytes = options_.max_bytes;
  header.ring_ns = options_.ring_ns;
  header.operators = options_.operators ? 1 : 0;
  header.heartbeat_ns.store(header.open_ns, std::memory_order_relaxed);
  header.last_event_ns.store(header.open_ns, std::memory_order_relaxed);
  header.bytes_reserved.store(pool_.file().reserved_bytes(), std::memory_order_relaxed);
  CopyText(header.recorder_version, sizeof(header.recorder_version), version_);
}

bool SpoolWriter::CreateFile() noexcept {
  uint8_t uuid[16];
  FillRandom(uuid);
  PoolOptions pool_options;
  pool_options.max_bytes = options_.max_bytes;
  pool_options.ring_ns = options_.ring_ns;
  pool_options.allocate = options_.allocate;
  if (!pool_.Create(directory_, uuid, pool_options)) return false;
  FileHeader& header = *pool_.header();
  FillHeader(header, uuid);
  header_.store(&header, std::memory_order_release);
  for (int i = 0; i < kHeaderLossCount; ++i) {
    LossSlot& slot = pending_.losses[i];
    const uint64_t count = slot.count.exchange(0, std::memory_order_acq_rel);
    if (count != 0) AddLoss(header.losses[i], count, slot.first_ns.load(), slot.last_ns.load());
  }
  return true;
}

bool SpoolWriter::Open() noexcept {
  if (state_.load(std::memory_order_acquire) != State::kReady &&
      state_.load(std::memory_order_acquire) != State::kOpen) {
    return false;
  }
  {
    BoundedLock lock(open_lock_);
    if (!lock.held()) return false;
    if (generation_.load(std::memory_order_acquire) != 0) return true;
    if (state_.load(std::memory_order_acquire) != State::kReady) return false;
    const int saved_errno = errno;
    const bool created = CreateFile();
    errno = saved_errno;
    state_.store(created ? State::kOpen : State::kFailed, std::memory_order_release);
    if (!created) return false;
    generation_.store(g_last_generation.fetch_add(1) + 1, std::memory_order_release);
  }
  if (options_.on_open != nullptr) options_.on_open(options_.context, *this);
  return true;
}

void SpoolWriter::Refused(bool disk_full) noexcept {
  const State state = state_.load(std::memory_order_acquire);
  if (state == State::kUnconfigured || state == State::kClosed) return;
  if (disk_full && state == State::kOpen) {
    state_.store(State::kStopped, std::memory_order_release);
    generation_.store(0, std::memory_order_release);
  }
  const bool full = disk_full || state == State::kStopped || state == State::kFailed;
  CountLoss(full ? LossCounter::kDiskFull : LossCounter::kSpoolFull);
}

ThreadSlot* SpoolWriter::Register() noexcept {
  if (!EnsureOpen()) return nullptr;
  const uint64_t generation = generation_.load(std::memory_order_acquire);
  ThreadSlot* slot = ThreadSlots::Current();
  if (slot != nullptr && generation != 0 && slot->generation.load(std::memory_order_relaxed) == generation) return slot;
  if (slot == nullptr) slot = ThreadSlots::Create();
  if (slot == nullptr || generation == 0) return nullptr;
  if (slot->writer != nullptr) slot->writer->Release(*slot);
  ThreadIdentity& identity = ThreadSlots::Identity();
  if (identity.generation != generation) {
    char name[16] = {};
    prctl(PR_GET_NAME, name);
    const uint32_t thread_index = AddThread(options_.caller_tid(), name, true);
    if (thread_index == 0) return nullptr;
    identity = {generation, thread_index};
  }
  slot->thread_index = identity.thread_index;
  memset(slot->memory, 0, sizeof(slot->memory));
  slot->writer = this;
  slot->generation.store(generation, std::memory_order_release);
  return slot;
}

void SpoolWriter::Release(ThreadSlot& slot) noexcept {
  ChunkHeader* chunk = slot.chunk.exchange(nullptr, std::memory_order_acq_rel);
  const bool is_current = slot.generation.load(std::memory_order_relaxed) == generation_.load();
  slot.generation.store(0, std::memory_order_relaxed);
  slot.writer = nullptr;
  slot.used = slot.capacity = 0;
  if (chunk != nullptr && is_current) pool_.GiveBack(chunk);
}

ThreadSlot* SpoolWriter::Refill(uint32_t bytes) noexcept {
  const int saved_errno = errno;
  ThreadSlot* slot = Register();
  TakeResult taken;
  if (slot != nullptr) {
    ChunkHeader* chunk = slot->chunk.load(std::memory_order_relaxed);
    if (chunk != nullptr && slot->used + bytes <= slot->capacity) return slot;
    if (chunk != nullptr) pool_.Seal(chunk);
    taken = pool_.TakeRecords(slot->thread_index, bytes, now_ns_());
    slot->chunk.store(taken.chunk, std::memory_order_release);
    slot->used = taken.chunk == nullptr ? 0 : taken.chunk->committed_bytes.load(std::memory_order_relaxed);
    slot->capacity = taken.chunk == nullptr ? 0 : BodyBytesOf(*taken.chunk);
  }
  errno = saved_errno;
  if (taken.chunk != nullptr) return slot;
  Refused(taken.disk_full);
  return nullptr;
}

bool SpoolWriter::AppendBytes(const void* record, uint32_t bytes, int64_t time_ns) noexcept {
  ThreadSlot* slot = ThreadSlots::Current();
  const uint64_t generation = generation_.load(std::memory_order_acquire);
  if (slot == nullptr || generation == 0 || slot->generation.load(std::memory_order_relaxed) != generation ||
      slot->used + bytes > slot->capacity) [[unlikely]] {
    slot = Refill(bytes);
    if (slot == nullptr) return false;
  }
  ChunkHeader* chunk = slot->chunk.load(std::memory_order_relaxed);
  memcpy(BodyOf(chunk) + slot->used, record, bytes);
  const int64_t first_ns = chunk->first_ns.load(std::memory_order_relaxed);
  if (first_ns == 0 || time_ns < first_ns) chunk->first_ns.store(time_ns, std::memory_order_relaxed);
  if (time_ns > chunk->last_ns.load(std::memory_order_relaxed)) {
    chunk->last_ns.store(time_ns, std::memory_order_relaxed);
  }
  slot->used += bytes;
  chunk->committed_bytes.store(slot->used, std::memory_order_release);
  return true;
}

uint32_t SpoolWriter::ThreadIndex() noexcept {
  ThreadSlot* slot = ThreadSlots::Current();
  const uint64_t generation = generation_.load(std::memory_order_acquire);
  if (slot != nullptr && generation != 0 && slot->generation.load(std::memory_order_relaxed) == generation) {
    return slot->thread_index;
  }
  slot = Register();
  return slot == nullptr ? 0 : slot->thread_index;
}

void* SpoolWriter::ThreadMemory() noexcept { return ThreadIndex() == 0 ? nullptr : ThreadSlots::Current()->memory; }

void SpoolWriter::CountLoss(LossCounter counter, uint64_t count) noexcept {
  const int64_t now = now_ns_();
  CountLoss(counter, count, now, now);
}

void SpoolWriter::CountLoss(LossCounter counter, uint64_t count, int64_t first_ns, int64_t last_ns) noexcept {
  AddLoss(header().losses[static_cast<int>(counter)], count, first_ns, last_ns);
}

void SpoolWriter::Heartbeat() noexcept {
  if (generation() == 0) return;
  FileHeader& current = header();
  int64_t last_ns = current.last_event_ns.load(std::memory_order_relaxed);
  for (ThreadSlot* slot = ThreadSlots::All(); slot != nullptr; slot = slot->next) {
    if (slot->generation.load(std::memory_order_acquire) != generation()) continue;
    const ChunkHeader* chunk = slot->chunk.load(std::memory_order_acquire);
    if (chunk == nullptr) continue;
    const int64_t chunk_ns = chunk->last_ns.load(std::memory_order_relaxed);
    if (chunk_ns > last_ns) last_ns = chunk_ns;
  }
  current.last_event_ns.store(last_ns, std::memory_order_relaxed);
  current.heartbeat_ns.store(now_ns_(), std::memory_order_relaxed);
  pool_.ReserveAhead();
}

void SpoolWriter::Close() noexcept {
  BoundedLock lock(open_lock_);
  const State state = state_.exchange(State::kClosed, std::memory_order_acq_rel);
  if (state != State::kOpen && state != State::kStopped) return;
  Heartbeat();
  generation_.store(0, std::memory_order_release);
  pool_.Close();
  header().close_realtime_ns.store(RealtimeNowNs(), std::memory_order_relaxed);
  header().close_ns.store(now_ns_(), std::memory_order_release);
}

void SpoolWriter::ForgetAfterFork() noexcept {
  open_lock_ = PTHREAD_MUTEX_INITIALIZER;
  dictionary_lock_ = PTHREAD_MUTEX_INITIALIZER;
  const State state = state_.load();
  const bool was_recorded = state == State::kOpen || state == State::kStopped;
  generation_.store(0);
  ThreadSlots::ForgetAfterFork();
  if (was_recorded) memcpy(static_cast<void*>(&pending_), &header(), sizeof(pending_));
  header_.store(&pending_);
  pool_.ForgetAfterFork();
  interner_.Clear();
  dictionary_chunk_ = nullptr;
  memset(next_ids_, 0, sizeof(next_ids_));
  memset(static_cast<void*>(pending_.losses), 0, sizeof(pending_.losses));
  for (auto* total : {&pending_.launches_seen, &pending_.kernels_seen, &pending_.callback_count, &pending_.callback_ns,
                      &pending_.units_used}) {
    total->store(0);
  }
  pending_.gpu_state.store(GpuState::kNotInitialised);
  pending_.cupti_error.store(0);
  if (!was_recorded) return;
  state_.store(State::kReady);
  CountLoss(LossCounter::kForkedChild);
}

}  // namespace stallhound::capture::spool
