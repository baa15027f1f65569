#pragma once

// The spool: what the recorder writes while the program runs, one file per process, and what survives any end of it.
// std only; the recorder and the reader share this header. Little-endian.
//
//   [FileHeader, kHeaderBytes] [unit 0] [unit 1] ...        units of kUnitBytes
//
// A chunk is one or more units: a ChunkHeader, then its body. A kRecords chunk has one writing thread, which appends a
// record and then publishes it with a release store to `committed_bytes`: what is committed is whole, whenever the
// process dies. A kDictionary chunk is the same under the writer's lock; it is never recycled by the ring. A kActivity
// chunk is a buffer lent to CUPTI: raw activity records of the layout in FileHeader; when CUPTI delivers it, the
// recorder appends the records in compact form to a kRecords chunk, zeroes the buffer and lends it again. What a killed
// process left in kActivity chunks is read with the same layout (activity_layout.h).
//
// The file grows by posix_fallocate, so that a full disk is an error code and never a SIGBUS. A unit whose header is
// zero was never used. Times are CLOCK_MONOTONIC_RAW ns, but for `realtime` fields.

#include <atomic>
#include <cstdint>

#include "capture/counters.h"
#include "capture/spool/activity_layout.h"

namespace stallhound::capture::spool {

inline constexpr char kFileMagic[8] = {'S', 'H', 'S', 'P', 'O', 'O', 'L', '1'};
inline constexpr uint32_t kFormatVersion = 2;  // 2: copies may have the times of their calls
inline constexpr uint32_t kHeaderBytes = 16384;
inline constexpr uint32_t kUnitBytes = 65536;
inline constexpr uint32_t kActivityUnits = 4;        // 256 KiB: small buffers bound the loss at SIGKILL
inline constexpr uint32_t kChunkMagic = 0x4b484353;  // "SCHK"
inline constexpr char kFileSuffix[] = ".spool";  // while open and after; the name is stallhound-<pid>-<random>.spool

// Keys of KeyValueRecord that only the reader sees: the process's working folder and home, to show paths without them.
inline constexpr char kProjectKey[] = "path.project";
inline constexpr char kHomeKey[] = "path.home";

enum class Mode : uint32_t { kLight = 0, kDefault = 1, kFull = 2 };

// Why the GPU side is or is not there. Stored in FileHeader::gpu_state.
enum class GpuState : uint32_t {
  kNotInitialised = 0,  // the program never initialised CUDA
  kRecording = 1,
  kNoCupti = 2,
  kOtherHolder = 3,  // FileHeader::holder names it
  kLost = 4,         // taken over later; see the kGpuSideLost counter's interval
  kYielded = 5,      // --yield-to-profiler
  kFailed = 6,       // a CUPTI call failed; FileHeader::cupti_error
};

// What a header has room for; the counters behind are those of importers.
inline constexpr int kHeaderLossCount = static_cast<int>(LossCounter::kDuplicateEvent) + 1;

// A loss counter: count, and the interval it fell in (0: none yet). Lives in the header, so a kill does not lose it.
struct LossSlot {
  std::atomic<uint64_t> count;
  std::atomic<int64_t> first_ns;
  std::atomic<int64_t> last_ns;
};

struct FileHeader {
  char magic[8];
  uint32_t version;
  uint32_t header_bytes;
  uint32_t unit_bytes;
  Mode mode;
  uint8_t uuid[16];  // random, of this file
  int64_t pid;
  int64_t parent_pid;
  int64_t open_ns;           // CLOCK_MONOTONIC_RAW
  int64_t open_realtime_ns;  // CLOCK_REALTIME at the same moment
  uint64_t max_bytes;        // --max-spool
  int64_t ring_ns;           // --last; 0: keep all
  uint32_t cupti_version;    // cuptiGetVersion, 0: none
  std::atomic<GpuState> gpu_state;
  std::atomic<uint32_t> cupti_error;
  uint32_t operators;             // --operators
  std::atomic<int64_t> close_ns;  // 0: not closed cleanly
  std::atomic<int64_t> close_realtime_ns;
  std::atomic<int64_t> heartbeat_ns;     // the recorder's thread was alive; CUPTI was flushed
  std::atomic<int64_t> last_event_ns;    // last host record written, coarse (heartbeat's granularity)
  std::atomic<uint64_t> units_used;      // high-water mark
  std::atomic<uint64_t> bytes_reserved;  // posix_fallocate'd, header included
  std::atomic<uint64_t> launches_seen;   // kernel launch calls outside captures; against kernels received
  std::atomic<uint64_t> kernels_seen;
  std::atomic<uint64_t> callback_count;  // recorder callbacks run, and the host time spent in them
  std::atomic<uint64_t> callback_ns;
  char recorder_version[32];
  char holder[64];  // name of another CUPTI subscriber
  char cupti_path[512];
  LossSlot losses[kHeaderLossCount];
  ActivityLayout layout;  // of kActivity chunks
};
static_assert(sizeof(FileHeader) <= kHeaderBytes);

enum class ChunkKind : uint16_t { kFree = 0, kRecords = 1, kDictionary = 2, kActivity = 3 };

// State of a kActivity chunk.
enum class ActivityState : uint32_t {
  kIdle = 0,        // zeroed, waiting in the pool
  kLent = 1,        // CUPTI writes into it
  kDelivered = 2,   // returned; `committed_bytes` are valid, not yet transcribed
  kTranscribed = 3  // its records are in a kRecords chunk too: do not read again
};

struct ChunkHeader {
  uint32_t magic;
  ChunkKind kind;
  uint16_t unit_count;
  uint32_t thread_index;  // kRecords: the writing thread; after its end another may go on, so records name theirs
  std::atomic<ActivityState> state;
  std::atomic<uint32_t> committed_bytes;  // of the body
  // kActivity: raw bytes whose records are in a kRecords chunk already; decode what follows them.
  std::atomic<uint32_t> transcribed_bytes;
  std::atomic<uint64_t> generation;  // grows each time the chunk is (re)used
  std::atomic<int64_t> first_ns;
  std::atomic<int64_t> last_ns;
  uint64_t link;  // the running writer's lists; means nothing to a reader
  uint64_t unused;
};
static_assert(sizeof(ChunkHeader) == 64);

// Records -------------------------------------------------------------------------------------------------------------

enum class RecordType : uint16_t {
  // Dictionary
  kString = 1,
  kThread = 2,
  kKeyValue = 3,
  kModule = 4,
  kPythonCode = 5,
  kStack = 6,
  kShape = 7,
  kPointerName = 8,
  kApiName = 9,
  kStream = 10,
  kContext = 11,
  kGraph = 12,
  kDomain = 13,
  // Events
  kHostCall = 32,
  kKernel = 33,
  kCopy = 34,
  kMemset = 35,
  kSync = 36,
  kCudaEvent = 37,
  kOverhead = 38,
  kRange = 39,
  kWindow = 40,
  kClock = 41,
  kLoss = 42,
};

// Every record starts so; `bytes` counts the header and is a multiple of 8.
struct RecordHeader {
  RecordType type;
  uint16_t flags;
  uint32_t bytes;
};

// Dictionary records. Ids are given by the recorder, from 1; 0 means none.

struct StringRecord {  // followed by `length` bytes, UTF-8 as found
  RecordHeader header;
  uint32_t string_id;
  uint32_t length;
};

struct ThreadRecord {  // a later record of a thread replaces its name
  RecordHeader header;
  uint32_t thread_index;
  uint32_t name;  // string; 0: unnamed
  int64_t tid;    // the operating system's, which may give a dead thread's id to another
};

struct KeyValueRecord {  // fingerprint ("gpu.0.name", "driver.version") and switches ("env.CUDA_LAUNCH_BLOCKING")
  RecordHeader header;
  uint32_t key;
  uint32_t value;
};

struct ModuleRecord {  // a mapped ELF file, for symbolization after the run
  RecordHeader header;
  uint32_t path;
  uint32_t build_id_bytes;
  uint8_t build_id[32];
  uint64_t begin;  // lowest mapped address
  uint64_t end;
  uint64_t load_bias;  // runtime address - ELF virtual address
};

struct PythonCodeRecord {  // followed by `table_bytes` of co_linetable (3.9: co_lnotab)
  RecordHeader header;
  uint32_t code_id;
  uint32_t file;  // string
  uint32_t name;  // string: qualified name, before 3.11 the name
  int32_t first_line;
  uint32_t python_version;  // 0x030b for 3.11
  uint32_t table_bytes;
};

struct PythonFrame {
  uint32_t code_id;
  int32_t instruction_offset;  // bytes from the code's first instruction; -1: not started
};

struct StackRecord {  // followed by python_count PythonFrames, then native_count uint64_t addresses; innermost first
  RecordHeader header;
  uint32_t stack_id;
  uint16_t python_count;
  uint16_t native_count;
};

struct ShapeRecord {
  RecordHeader header;
  uint32_t shape_id;
  uint32_t name;
  uint32_t grid[3];
  uint32_t block[3];
  uint32_t registers_per_thread;
  uint32_t static_shared_bytes;
  uint32_t dynamic_shared_bytes;
  uint32_t reserved;
};

struct PointerNameRecord {  // names that raw activity records point at, for undelivered buffers
  RecordHeader header;
  uint64_t pointer;
  uint32_t name;
  uint32_t reserved;
};

struct ApiNameRecord {
  RecordHeader header;
  uint32_t layer;  // ApiLayer
  uint32_t cbid;
  uint32_t name;  // with suffixes, as CUPTI names it
  uint32_t reserved;
};

struct StreamRecord {
  RecordHeader header;
  uint32_t context_id;
  uint32_t stream_id;
  uint32_t flag;  // StreamFlag
  int32_t priority;
};

struct ContextRecord {
  RecordHeader header;
  uint32_t context_id;
  uint32_t device_id;
  uint32_t null_stream_id;
  uint32_t reserved;
};

struct GraphRecord {
  RecordHeader header;
  uint32_t graph_id;
  uint32_t kernel_node_count;
};

struct DomainRecord {  // an NVTX domain; the same name from several modules is one domain
  RecordHeader header;
  uint32_t domain_id;
  uint32_t name;
};

// Event records. Optional numbers use the k..None values below.
inline constexpr uint32_t kNone32 = 0xffffffffu;
inline constexpr uint64_t kNone64 = ~uint64_t{0};
inline constexpr int64_t kNonePayload = INT64_MIN;

struct HostCallRecord {  // written when the call returns
  RecordHeader header;
  int64_t start_ns;
  int64_t end_ns;
  uint32_t thread_index;  // in chunks of the recorder's own thread too: who made the call
  uint32_t correlation_id;
  uint32_t cbid;
  uint16_t layer;  // ApiLayer
  uint16_t depth;  // 0: not inside another recorded call
  uint32_t stack_id;
  int32_t return_value;
  uint32_t context_id;    // kNone32: unknown
  uint32_t stream_id;     // kNone32: unknown
  uint64_t event_handle;  // kNone64: none
  uint64_t bytes;         // kNone64: none
  uint64_t address;       // kNone64: none
};

struct KernelRecord {
  RecordHeader header;
  int64_t start_ns;
  int64_t end_ns;
  uint32_t correlation_id;
  uint32_t device_id;
  uint32_t context_id;
  uint32_t stream_id;
  uint32_t shape_id;
  uint32_t graph_id;       // 0: not from a graph
  uint64_t graph_node_id;  // 0: not from a graph
};

struct CopyRecord {
  RecordHeader header;
  int64_t start_ns;
  int64_t end_ns;
  uint32_t correlation_id;
  uint32_t device_id;
  uint32_t context_id;
  uint32_t stream_id;
  uint64_t bytes;
  uint8_t direction;    // CopyDirection
  uint8_t source_kind;  // MemoryKind
  uint8_t target_kind;
  uint8_t is_async;
  uint32_t peer_device_id;  // kNone32: none
  uint32_t graph_id;
  uint32_t has_call_times;  // 1: start and end are the call's, the GPU's were not recorded (light)
  uint64_t graph_node_id;
};

struct MemsetRecord {
  RecordHeader header;
  int64_t start_ns;
  int64_t end_ns;
  uint32_t correlation_id;
  uint32_t device_id;
  uint32_t context_id;
  uint32_t stream_id;
  uint64_t bytes;
  uint32_t value;
  uint32_t memory_kind;
  uint32_t graph_id;
  uint32_t reserved;
  uint64_t graph_node_id;
};

struct SyncRecord {
  RecordHeader header;
  int64_t start_ns;
  int64_t end_ns;
  uint32_t type;  // SyncType
  uint32_t correlation_id;
  uint32_t context_id;
  uint32_t stream_id;  // kNone32: not applicable
  uint32_t event_id;   // kNone32: not applicable
  int32_t return_value;
  uint64_t event_sync_id;  // kNone64: not recorded by this CUPTI
};

struct CudaEventRecord {
  RecordHeader header;
  int64_t time_ns;  // 0: this CUPTI gives none; the reader takes the call's start
  uint32_t correlation_id;
  uint32_t context_id;
  uint32_t stream_id;
  uint32_t event_id;
  uint64_t event_sync_id;  // kNone64: not recorded by this CUPTI
};

struct OverheadRecord {
  RecordHeader header;
  int64_t start_ns;
  int64_t end_ns;
  uint32_t kind;  // CUpti_ActivityOverheadKind, raw
  uint32_t tid;   // kNone32: not a thread
  uint32_t correlation_id;
  uint32_t reserved;
};

enum class RangeEvent : uint32_t { kPush = 0, kPop = 1, kStart = 2, kEnd = 3, kMark = 4 };

struct RangeRecord {  // written at each end, so that open ranges survive a kill
  RecordHeader header;
  int64_t time_ns;
  uint32_t thread_index;
  RangeEvent event;
  uint64_t range_id;     // kStart and kEnd; of an operator's push the id of its Python stack, 0: none
  uint32_t domain_id;    // 0: the default domain
  uint32_t name;         // string
  uint32_t category;     // string: its name, its number if it has none; 0: no category
  uint32_t is_operator;  // an ATen operator's or autograd node's own range (--operators)
  int64_t payload;       // kNonePayload: none; of an operator its sequence number
};

struct WindowRecord {
  RecordHeader header;
  int64_t time_ns;
  uint32_t is_on;
  uint32_t reason;  // string
};

struct ClockRecord {  // both clocks read together
  RecordHeader header;
  int64_t raw_ns;
  int64_t realtime_ns;
};

struct LossRecord {  // more about a loss than its slot holds
  RecordHeader header;
  uint32_t counter;  // LossCounter
  uint32_t detail;   // string
  int64_t start_ns;
  int64_t end_ns;
  uint64_t count;
};

}  // namespace stallhound::capture::spool
