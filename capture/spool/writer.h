#pragma once

// Writes one process's spool (format.h) while the program runs. std only; no exceptions, no malloc after a thread's
// first record, no lock on the way of an event record but when a thread's chunk is full (once in 64 KiB).
//
// The file is created at the first record, by whichever thread comes first. Until then, and after a full disk, Close or
// a failure, calls are cheap, harmless and counted. Everything is thread-safe unless said otherwise. Every id returned
// belongs to the current file: after a fork the child gets a new one, and generation() tells caches to start over.

#include <pthread.h>

#include <atomic>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "capture/counters.h"
#include "capture/spool/chunk_pool.h"
#include "capture/spool/format.h"
#include "capture/spool/interner.h"
#include "capture/spool/raw_clock.h"

namespace stallhound::capture::spool {

// The RecordType of each record struct.
template <typename Record>
inline constexpr RecordType kRecordTypeOf = RecordType{0};
#define SH_RECORD_TYPE(Name) \
  template <>                \
  inline constexpr RecordType kRecordTypeOf<Name##Record> = RecordType::k##Name
SH_RECORD_TYPE(String);
SH_RECORD_TYPE(Thread);
SH_RECORD_TYPE(KeyValue);
SH_RECORD_TYPE(Module);
SH_RECORD_TYPE(PythonCode);
SH_RECORD_TYPE(Stack);
SH_RECORD_TYPE(Shape);
SH_RECORD_TYPE(PointerName);
SH_RECORD_TYPE(ApiName);
SH_RECORD_TYPE(Stream);
SH_RECORD_TYPE(Context);
SH_RECORD_TYPE(Graph);
SH_RECORD_TYPE(Domain);
SH_RECORD_TYPE(HostCall);
SH_RECORD_TYPE(Kernel);
SH_RECORD_TYPE(Copy);
SH_RECORD_TYPE(Memset);
SH_RECORD_TYPE(Sync);
SH_RECORD_TYPE(CudaEvent);
SH_RECORD_TYPE(Overhead);
SH_RECORD_TYPE(Range);
SH_RECORD_TYPE(Window);
SH_RECORD_TYPE(Clock);
SH_RECORD_TYPE(Loss);
#undef SH_RECORD_TYPE

inline constexpr uint64_t kDefaultMaxBytes = uint64_t{4} << 30;

class SpoolWriter;
struct ThreadSlot;

// The operating system's id of the calling thread.
int64_t CallerTid() noexcept;

struct WriterOptions {
  const char* directory = nullptr;  // copied
  Mode mode = Mode::kDefault;
  uint64_t max_bytes = kDefaultMaxBytes;
  int64_t ring_ns = 0;  // keep the last so many ns only; 0: keep all
  bool operators = false;
  const char* recorder_version = "";  // copied
  // Called by the thread that created the file, once per file, when records can be written; no lock is held.
  void (*on_open)(void* context, SpoolWriter& writer) = nullptr;
  void* context = nullptr;
  AllocateFunction allocate = nullptr;  // null: posix_fallocate
  int64_t (*now_ns)() = RawNowNs;
  int64_t (*caller_tid)() = CallerTid;
};

// One activity buffer that CUPTI returned. `body` has `bytes` valid bytes.
struct DeliveredActivity {
  ChunkHeader* chunk = nullptr;  // null: none
  const uint8_t* body = nullptr;
  uint32_t bytes = 0;
};

class SpoolWriter {
 public:
  SpoolWriter() = default;
  SpoolWriter(const SpoolWriter&) = delete;
  SpoolWriter& operator=(const SpoolWriter&) = delete;
  // Unmaps the file: no other thread may be writing. A recorder in a real process is never destroyed.
  ~SpoolWriter();

  // Before the first record; once. No file is made yet. False: the path is too long.
  bool Configure(const WriterOptions& options) noexcept;

  // Appends an event record to the calling thread's chunk; sets `record.header`. `time_ns` is the record's end: the
  // ring and the interval of losses go by it. False: not recorded, and counted. Costs a copy and two stores.
  template <typename Record>
  bool Append(Record& record, int64_t time_ns) noexcept {
    static_assert(static_cast<uint16_t>(kRecordTypeOf<Record>) >= 32, "not an event record");
    SetHeader(record);
    return AppendBytes(&record, sizeof(Record), time_ns);
  }

  // Writes a dictionary record that has no id of its own (key-values, modules, pointer names, streams, ...).
  template <typename Record>
  bool AddDictionary(Record& record) noexcept {
    static_assert(static_cast<uint16_t>(kRecordTypeOf<Record>) < 32, "not a dictionary record");
    SetHeader(record);
    return AppendDictionary(&record.header, sizeof(Record));
  }

  // The id of a dictionary record that starts with its id (shapes, stacks, Python code, domains): equal content, equal
  // id. Sets header and id. `tail` are the bytes that follow the struct. 0: not recorded, and counted. Lock-free if
  // known, else under a lock with a bounded wait.
  template <typename Record>
  uint32_t Intern(Record& record, const void* tail = nullptr, size_t tail_bytes = 0) noexcept {
    static_assert(sizeof(RecordHeader) + sizeof(uint32_t) <= sizeof(Record));
    SetHeader(record);
    return InternRecord(&record.header, sizeof(Record), tail, tail_bytes);
  }
  // Text longer than kMaxStringBytes is cut. "" has id 0.
  static constexpr size_t kMaxStringBytes = 16384;
  uint32_t InternString(std::string_view text) noexcept;

  // KeyValueRecord of two interned strings. Of a key that is written again the reader takes the last value.
  void AddKeyValue(std::string_view key, std::string_view value) noexcept;

  // The calling thread's index; its ThreadRecord is written at the first call. Two threads that call this never share
  // one, though the system may give one the id that the other had. 0: not recording.
  uint32_t ThreadIndex() noexcept;
  // 512 bytes of the calling thread's own, 8-aligned, zero at its first record in this file: one user may keep its
  // state there. Null: not recording.
  void* ThreadMemory() noexcept;
  // The index of any thread of this process, by the operating system's id: of those that had it the last one that
  // called ThreadIndex. 0: not recording.
  uint32_t ThreadIndexOf(int64_t tid) noexcept;

  void CountLoss(LossCounter counter, uint64_t count = 1) noexcept;
  // The same for losses of a known interval.
  void CountLoss(LossCounter counter, uint64_t count, int64_t first_ns, int64_t last_ns) noexcept;

  // Activity buffers. Lend: a zeroed buffer, null if none can be had. Deliver: ignores what Lend did not give.
  // NextDelivered, MarkTranscribed and Recycle: by one thread, the one that transcribes.
  uint8_t* LendActivity(size_t* bytes) noexcept;
  void DeliverActivity(uint8_t* buffer, size_t valid_bytes) noexcept;
  DeliveredActivity NextDelivered() noexcept;
  void MarkTranscribed(const DeliveredActivity& delivered, uint32_t bytes) noexcept;
  void Recycle(const DeliveredActivity& delivered) noexcept;
  // Calls `visit` with every buffer that is lent now. CUPTI goes on writing into them meanwhile.
  void VisitLent(void (*visit)(void* context, const uint8_t* body, size_t bytes), void* context) const noexcept;

  // Every so often, by one thread: notes in the header that the process lives and when it last recorded, and reserves
  // disk space ahead, so that recording threads rarely do.
  void Heartbeat() noexcept;

  // Ends the file cleanly. Records that come later are dropped and counted nowhere. Mapped memory stays valid.
  void Close() noexcept;

  // In the child of a fork, by its only thread: lets go of the parent's file; the next record opens the child's own.
  void ForgetAfterFork() noexcept;

  // Opens the file if it is not open yet. True: records can be written.
  bool EnsureOpen() noexcept { return generation_.load(std::memory_order_acquire) != 0 || Open(); }

  // Never 0 while the file is open, and different for each file of this process.
  uint64_t generation() const noexcept { return generation_.load(std::memory_order_acquire); }
  // The disk or the size limit has stopped event records for good.
  bool is_stopped() const noexcept;
  // The file's header; before the file exists, the one it will start with. Atomic fields may be changed by anybody,
  // the others before the first record only.
  FileHeader& header() noexcept { return *header_.load(std::memory_order_acquire); }
  // Empty until the file exists.
  const char* path() const noexcept { return pool_.file().path(); }
  int64_t NowNs() const noexcept { return now_ns_(); }

 private:
  enum class State : uint32_t { kUnconfigured, kReady, kOpen, kStopped, kClosed, kFailed };

  template <typename Record>
  static void SetHeader(Record& record) noexcept {
    static_assert(std::is_trivially_copyable_v<Record> && sizeof(Record) % 8 == 0);
    static_assert(kRecordTypeOf<Record> != RecordType{0});
    record.header = {kRecordTypeOf<Record>, 0, sizeof(Record)};
  }

  bool Open() noexcept;
  bool CreateFile() noexcept;
  void FillHeader(FileHeader& header, const uint8_t (&uuid)[16]) noexcept;
  // Counts records that could not be written, and stops for good when the disk is full.
  void Refused(bool disk_full) noexcept;

  bool AppendBytes(const void* record, uint32_t bytes, int64_t time_ns) noexcept;
  uint32_t InternRecord(RecordHeader* record, size_t bytes, const void* tail, size_t tail_bytes) noexcept;
  bool AppendDictionary(RecordHeader* record, size_t bytes) noexcept;
  // Under dictionary_lock_. Where the record lies in the file, or null.
  const uint8_t* PutDictionary(RecordHeader* record, size_t bytes, const void* tail, size_t tail_bytes) noexcept;

  uint32_t AddThread(int64_t tid, std::string_view name, bool is_caller) noexcept;
  // The calling thread's slot with an index in the current file; null: not recording.
  ThreadSlot* Register() noexcept;
  ThreadSlot* Refill(uint32_t bytes) noexcept;
  friend class ThreadSlots;
  void Release(ThreadSlot& slot) noexcept;

  std::atomic<uint64_t> generation_{0};
  std::atomic<FileHeader*> header_{&pending_};
  std::atomic<State> state_{State::kUnconfigured};
  int64_t (*now_ns_)() = RawNowNs;

  pthread_mutex_t open_lock_ = PTHREAD_MUTEX_INITIALIZER;
  WriterOptions options_;
  ChunkPool pool_;

  pthread_mutex_t dictionary_lock_ = PTHREAD_MUTEX_INITIALIZER;
  Interner interner_;
  ChunkHeader* dictionary_chunk_ = nullptr;
  uint32_t next_ids_[32] = {};  // by RecordType

  char directory_[PATH_MAX] = {};
  char version_[sizeof(FileHeader::recorder_version)] = {};
  FileHeader pending_{};  // what is known before the file exists
};

}  // namespace stallhound::capture::spool
