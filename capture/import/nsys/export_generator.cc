#include "capture/import/nsys/export_generator.h"

#include <absl/status/statusor.h>
#include <fmt/format.h>

#include <initializer_list>
#include <string_view>
#include <utility>
#include <variant>

#include "base/sqlite/sqlite.h"
#include "base/status_macros.h"

namespace stallhound::capture::nsys {
namespace {

constexpr char kSchema[] = R"sql(
CREATE TABLE META_DATA_EXPORT (name TEXT NOT NULL, value TEXT);
CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE PROCESSES (globalPid INTEGER, pid INTEGER, name TEXT);
CREATE TABLE ThreadNames (nameId INTEGER NOT NULL, priority INTEGER, globalTid INTEGER);
CREATE TABLE ENUM_CUDA_MEM_KIND (id INTEGER NOT NULL PRIMARY KEY, name TEXT, label TEXT);
CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER, utcTime TEXT, localTime TEXT, systemClockNs INTEGER);
CREATE TABLE TARGET_INFO_GPU (vmId INTEGER, id INTEGER, name TEXT, totalMemory INTEGER, smCount INTEGER,
  cuDevice INTEGER, computeMajor INTEGER, computeMinor INTEGER);
CREATE TABLE TARGET_INFO_CUDA_DEVICE (gpuId INTEGER, cudaId INTEGER NOT NULL, pid INTEGER NOT NULL);
CREATE TABLE TARGET_INFO_CUDA_STREAM (streamId INTEGER NOT NULL, hwId INTEGER NOT NULL, vmId INTEGER NOT NULL,
  processId INTEGER NOT NULL, contextId INTEGER NOT NULL, priority INTEGER NOT NULL, flag INTEGER NOT NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER NOT NULL, end INTEGER NOT NULL, eventClass INTEGER NOT NULL,
  globalTid INTEGER, correlationId INTEGER, nameId INTEGER NOT NULL, returnValue INTEGER NOT NULL,
  callchainId INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL,
  contextId INTEGER NOT NULL, greenContextId INTEGER, streamId INTEGER NOT NULL, correlationId INTEGER,
  globalPid INTEGER, demangledName INTEGER NOT NULL, shortName INTEGER NOT NULL, mangledName INTEGER,
  launchType INTEGER, cacheConfig INTEGER, registersPerThread INTEGER NOT NULL, gridX INTEGER NOT NULL,
  gridY INTEGER NOT NULL, gridZ INTEGER NOT NULL, blockX INTEGER NOT NULL, blockY INTEGER NOT NULL,
  blockZ INTEGER NOT NULL, staticSharedMemory INTEGER NOT NULL, dynamicSharedMemory INTEGER NOT NULL,
  localMemoryPerThread INTEGER NOT NULL, localMemoryTotal INTEGER NOT NULL, gridId INTEGER NOT NULL,
  sharedMemoryExecuted INTEGER, graphNodeId INTEGER, sharedMemoryLimitConfig INTEGER, qmdBulkReleaseDone INTEGER,
  qmdPreexitDone INTEGER, qmdLastCtaDone INTEGER, graphId INTEGER, clusterX INTEGER, clusterY INTEGER,
  clusterZ INTEGER, clusterSchedulingPolicy INTEGER, maxPotentialClusterSize INTEGER, maxActiveClusters INTEGER,
  sharedMemoryRequestedPercentage INTEGER, tensorSizeMinusOneElements TEXT NOT NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL,
  contextId INTEGER NOT NULL, greenContextId INTEGER, streamId INTEGER NOT NULL, correlationId INTEGER,
  globalPid INTEGER, bytes INTEGER NOT NULL, copyKind INTEGER NOT NULL, deprecatedSrcId INTEGER, srcKind INTEGER,
  dstKind INTEGER, srcDeviceId INTEGER, srcContextId INTEGER, dstDeviceId INTEGER, dstContextId INTEGER,
  migrationCause INTEGER, graphNodeId INTEGER, virtualAddress INTEGER, copyCount INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL,
  contextId INTEGER NOT NULL, greenContextId INTEGER, streamId INTEGER NOT NULL, correlationId INTEGER,
  globalPid INTEGER, value INTEGER NOT NULL, bytes INTEGER NOT NULL, graphNodeId INTEGER, memKind INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (start INTEGER NOT NULL, end INTEGER NOT NULL,
  deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, greenContextId INTEGER, streamId INTEGER NOT NULL,
  correlationId INTEGER, globalPid INTEGER, deprecatedSyncType INTEGER, syncType INTEGER NOT NULL,
  eventId INTEGER NOT NULL, eventSyncId INTEGER NOT NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_CUDA_EVENT (timestamp INTEGER, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL,
  greenContextId INTEGER, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER,
  eventId INTEGER NOT NULL, eventSyncId INTEGER);
CREATE TABLE NVTX_EVENTS (start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, rangeId INTEGER,
  category INTEGER, color INTEGER, text TEXT, globalTid INTEGER, endGlobalTid INTEGER, textId INTEGER,
  domainId INTEGER, uint64Value INTEGER, int64Value INTEGER, doubleValue REAL, uint32Value INTEGER,
  int32Value INTEGER, floatValue REAL, jsonTextId INTEGER, jsonText TEXT, binaryData TEXT);
INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_PRODUCT_VERSION', '2026.2.1.210'), ('EXPORT_SCHEMA_VERSION', '3.25.0'),
  ('EXPORT_PARAM_LAZY', 'true');
INSERT INTO ENUM_CUDA_MEM_KIND VALUES (0, 'CUDA_MEMOPR_MEMORY_KIND_PAGEABLE', 'Pageable'),
  (1, 'CUDA_MEMOPR_MEMORY_KIND_PINNED', 'Pinned'), (2, 'CUDA_MEMOPR_MEMORY_KIND_DEVICE', 'Device');
INSERT INTO StringIds VALUES (1, 'cudaMemcpyAsync_v3020'), (2, 'cudaMemsetAsync_v3020'), (3, 'cudaLaunchKernel_v7000'),
  (4, 'cudaEventRecord_v3020'), (5, 'cudaStreamSynchronize_v3020'), (6, 'python'), (7, 'autograd');
INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (1769000000000000000, '', '', 0);
INSERT INTO TARGET_INFO_GPU VALUES (0, 0, 'NVIDIA H200', 150121545728, 132, 0, 9, 0);
)sql";

constexpr int64_t kPid = 851;
constexpr int64_t kGlobalPid = int64_t{1} << 48 | kPid << 24;
constexpr int64_t kFirstKernelName = 100;

// Half a step is one thread's: a copy, a memset, launches, an event record and a wait for all of them, each in a slot.
constexpr int64_t kLaunchCount = 10;
constexpr int64_t kRangeCount = kLaunchCount;
enum Slot : int64_t { kCopySlot, kMemsetSlot, kLaunchSlot, kEventSlot = kLaunchSlot + kLaunchCount, kWaitSlot, kSlots };
constexpr int64_t kEventsPerHalf = kRangeCount + kSlots + kEventSlot + 2;  // and the event's and the wait's records
constexpr int64_t kSlotNs = 10'000;
constexpr int64_t kWorkNs = 12'000;  // of the GPU: it falls behind, so that the wait at the end is a stall
constexpr int64_t kHalfNs = 170'000;

using Value = std::variant<std::monostate, int64_t, std::string_view>;

struct Half {
  int64_t index = 0;
  int64_t step = 0;
  int64_t thread = 0;

  int64_t StartNs() const { return 1'000'000 + index * kHalfNs; }
  int64_t CallNs(int64_t slot) const { return StartNs() + slot * kSlotNs; }
  int64_t WorkStartNs(int64_t slot) const { return StartNs() + kWorkNs * (slot + 1); }
  int64_t WorkEndNs(int64_t slot) const { return WorkStartNs(slot) + kWorkNs - 1'000; }
  int64_t Correlation(int64_t slot) const { return index * kSlots + slot + 1; }
  int64_t GlobalTid() const { return kGlobalPid | (kPid + thread); }
  int64_t Stream() const { return 7 + thread; }
};

class Generator {
 public:
  Generator(sqlite3* connection, const GeneratedExport& options)
      : connection_(connection),
        by_thread_(options.by_thread),
        step_count_((options.event_count + 2 * kEventsPerHalf - 1) / (2 * kEventsPerHalf)) {}

  absl::Status Write() {
    SH_RETURN_IF_ERROR(Names());
    SH_RETURN_IF_ERROR(Calls());
    SH_RETURN_IF_ERROR(Kernels());
    SH_RETURN_IF_ERROR(OtherWork());
    SH_RETURN_IF_ERROR(Waits());
    return Ranges();
  }

 private:
  absl::Status Open(std::string_view table, int column_count) {
    std::string sql = fmt::format("INSERT INTO {} VALUES (?", table);
    for (int i = 1; i < column_count; ++i) sql += ", ?";
    SH_ASSIGN_OR_RETURN(statement_, PrepareSql(connection_, sql + ")"));
    return absl::OkStatus();
  }

  absl::Status Add(std::initializer_list<Value> values) {
    int column = 0;
    for (const Value& value : values) {
      ++column;
      if (const auto* number = std::get_if<int64_t>(&value)) {
        sqlite3_bind_int64(statement_.get(), column, *number);
      } else if (const auto* text = std::get_if<std::string_view>(&value)) {
        sqlite3_bind_text(statement_.get(), column, text->data(), static_cast<int>(text->size()), SQLITE_STATIC);
      }
    }
    if (sqlite3_step(statement_.get()) != SQLITE_DONE) return SqliteError(connection_, "writing", "a generated row");
    sqlite3_reset(statement_.get());
    return absl::OkStatus();
  }

  // Calls add(half) for all halves in order of time, or those of one thread first.
  template <typename Add>
  absl::Status ForEachHalf(bool by_thread, Add&& add) {
    for (int64_t i = 0; i < 2 * step_count_; ++i) {
      Half half{i, i / 2, i % 2};
      if (by_thread) half = {i % step_count_ * 2 + i / step_count_, i % step_count_, i / step_count_};
      SH_RETURN_IF_ERROR(add(half));
    }
    return absl::OkStatus();
  }

  absl::Status Names() {
    SH_RETURN_IF_ERROR(Open("StringIds", 2));
    for (int64_t i = 0; i < kLaunchCount; ++i) {
      const std::string name = fmt::format("void at::native::elementwise_kernel<128, {}>(int, float*, float*)", i);
      SH_RETURN_IF_ERROR(Add({kFirstKernelName + i, name}));
    }
    return ExecuteSql(connection_, fmt::format("INSERT INTO PROCESSES VALUES ({0}, {1}, '/usr/bin/python3');"
                                               "INSERT INTO ThreadNames VALUES (6, 0, {2}), (7, 0, {3});"
                                               "INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES (0, 0, {1});"
                                               "INSERT INTO TARGET_INFO_CUDA_STREAM VALUES (7, 0, 0, {1}, 1, 0, 1), "
                                               "(8, 0, 0, {1}, 1, 0, 2);",
                                               kGlobalPid, kPid, kGlobalPid | kPid, kGlobalPid | (kPid + 1)));
  }

  absl::Status Calls() {
    SH_RETURN_IF_ERROR(Open("CUPTI_ACTIVITY_KIND_RUNTIME", 8));
    return ForEachHalf(by_thread_, [&](const Half& half) {
      for (int64_t slot = 0; slot < kSlots; ++slot) {
        const int64_t name = slot < kLaunchSlot ? slot + 1 : slot < kEventSlot ? 3 : slot - kEventSlot + 4;
        const int64_t end = slot == kWaitSlot ? half.WorkEndNs(kEventSlot - 1) + 4'000 : half.CallNs(slot) + 6'000;
        SH_RETURN_IF_ERROR(
            Add({half.CallNs(slot), end, int64_t{0}, half.GlobalTid(), half.Correlation(slot), name, int64_t{0}, {}}));
      }
      return absl::OkStatus();
    });
  }

  absl::Status Kernels() {
    SH_RETURN_IF_ERROR(Open("CUPTI_ACTIVITY_KIND_KERNEL", 40));
    constexpr int64_t k0 = 0;
    constexpr int64_t k1 = 1;
    return ForEachHalf(false, [&](const Half& half) {
      for (int64_t slot = kLaunchSlot; slot < kEventSlot; ++slot) {
        const int64_t name = kFirstKernelName + slot - kLaunchSlot;
        SH_RETURN_IF_ERROR(Add({half.WorkStartNs(slot),
                                half.WorkEndNs(slot),
                                k0,
                                k1,
                                k0,
                                half.Stream(),
                                half.Correlation(slot),
                                kGlobalPid,
                                name,
                                name,
                                name,
                                k1,
                                k1,
                                int64_t{32},
                                1'000 + slot,
                                k1,
                                k1,
                                int64_t{128},
                                k1,
                                k1,
                                k0,
                                int64_t{1024},
                                k0,
                                k0,
                                half.Correlation(slot),
                                int64_t{32768},
                                {},
                                k0,
                                {},
                                {},
                                {},
                                {},
                                k0,
                                k0,
                                k0,
                                k1,
                                k0,
                                k0,
                                {},
                                std::string_view("[]")}));
      }
      return absl::OkStatus();
    });
  }

  absl::Status OtherWork() {
    constexpr int64_t k0 = 0;
    constexpr int64_t k1 = 1;
    SH_RETURN_IF_ERROR(Open("CUPTI_ACTIVITY_KIND_MEMCPY", 21));
    SH_RETURN_IF_ERROR(ForEachHalf(false, [&](const Half& half) {
      return Add({half.WorkStartNs(kCopySlot),
                  half.WorkEndNs(kCopySlot),
                  k0,
                  k1,
                  k0,
                  half.Stream(),
                  half.Correlation(kCopySlot),
                  kGlobalPid,
                  int64_t{65536},
                  k1,
                  {},
                  half.thread,
                  int64_t{2}});
    }));
    SH_RETURN_IF_ERROR(Open("CUPTI_ACTIVITY_KIND_MEMSET", 12));
    return ForEachHalf(false, [&](const Half& half) {
      return Add({half.WorkStartNs(kMemsetSlot),
                  half.WorkEndNs(kMemsetSlot),
                  k0,
                  k1,
                  k0,
                  half.Stream(),
                  half.Correlation(kMemsetSlot),
                  kGlobalPid,
                  k0,
                  int64_t{4096},
                  {},
                  int64_t{2}});
    });
  }

  absl::Status Waits() {
    constexpr int64_t k0 = 0;
    constexpr int64_t k1 = 1;
    SH_RETURN_IF_ERROR(Open("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", 12));
    SH_RETURN_IF_ERROR(ForEachHalf(false, [&](const Half& half) {
      return Add({half.CallNs(kWaitSlot) + 500,
                  half.WorkEndNs(kEventSlot - 1) + 3'500,
                  k0,
                  k1,
                  {},
                  half.Stream(),
                  half.Correlation(kWaitSlot),
                  kGlobalPid,
                  {},
                  int64_t{3},
                  int64_t{0xffffffff},
                  k0});
    }));
    SH_RETURN_IF_ERROR(Open("CUPTI_ACTIVITY_KIND_CUDA_EVENT", 9));
    return ForEachHalf(false, [&](const Half& half) {
      return Add({k0, k0, k1, {}, half.Stream(), half.Correlation(kEventSlot), kGlobalPid, half.thread + 1, half.step});
    });
  }

  absl::Status Ranges() {
    SH_RETURN_IF_ERROR(Open("NVTX_EVENTS", 20));
    return ForEachHalf(by_thread_, [&](const Half& half) {
      for (int64_t i = 0; i < kRangeCount; ++i) {
        const int64_t start_ns = half.CallNs(kLaunchSlot + i) - 2'000;
        const std::string text = fmt::format("aten::add_{}, seq = {}, op_id = {}, sizes = [[64, 256], [256, 256]]", i,
                                             half.index, half.Correlation(i));
        SH_RETURN_IF_ERROR(Add({start_ns,
                                start_ns + kSlotNs - 1'000,
                                int64_t{59},
                                {},
                                {},
                                {},
                                text,
                                half.GlobalTid(),
                                {},
                                {},
                                int64_t{0}}));
      }
      return absl::OkStatus();
    });
  }

  sqlite3* connection_;
  bool by_thread_;
  int64_t step_count_;
  SqliteStatement statement_;
};

}  // namespace

absl::Status GenerateExport(const std::string& path, const GeneratedExport& options) {
  SH_ASSIGN_OR_RETURN(const SqliteConnection connection,
                      OpenSqlite(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX));
  SH_RETURN_IF_ERROR(ExecuteSql(connection.get(), "PRAGMA synchronous = OFF; PRAGMA journal_mode = OFF; BEGIN;"));
  SH_RETURN_IF_ERROR(ExecuteSql(connection.get(), kSchema));
  SH_RETURN_IF_ERROR(Generator(connection.get(), options).Write());
  return ExecuteSql(connection.get(), "COMMIT");
}

}  // namespace stallhound::capture::nsys
