#include "capture/import/nsys/test_export.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <cstdio>
#include <cstdlib>

#include "base/status_macros.h"
#include "capture/import/nsys/nsys.h"

namespace stallhound::capture::nsys {
namespace {

class Collector : public CaptureVisitor {
 public:
  explicit Collector(Recording& recording) : recording_(recording) {}

#define SH_TEST_COLLECT(Type, table, COLUMNS)                                         \
  absl::Status On(const Type##Batch& batch) override {                                \
    for (size_t i = 0; i < batch.size; ++i) recording_.table.push_back(batch.Get(i)); \
    return absl::OkStatus();                                                          \
  }
  SH_CAPTURE_TABLES(SH_TEST_COLLECT)
#undef SH_TEST_COLLECT

 private:
  Recording& recording_;
};

}  // namespace

bool Recording::Notes(std::string_view words) const {
  for (const std::string& note : info.notes) {
    if (note.find(words) != std::string::npos) return true;
  }
  return false;
}

TestExport::TestExport() {
  static int count = 0;
  path_ = fmt::format("{}/export{}.sqlite", ::testing::TempDir(), ++count);
  std::remove(path_.c_str());
  sqlite3_open(path_.c_str(), &database_);
  Run("PRAGMA synchronous = OFF; PRAGMA journal_mode = MEMORY");
}

TestExport::~TestExport() {
  sqlite3_close(database_);
  std::remove(path_.c_str());
}

void TestExport::Run(const std::string& sql) {
  char* error = nullptr;
  if (sqlite3_exec(database_, sql.c_str(), nullptr, nullptr, &error) == SQLITE_OK) return;
  std::fprintf(stderr, "the test's own SQL failed: %s in %s\n", error, sql.c_str());
  std::abort();
}

void TestExport::CreateTables() {
  Run("CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);"
      "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER NOT NULL, end INTEGER NOT NULL, eventClass INTEGER NOT "
      "NULL, globalTid INTEGER, correlationId INTEGER, nameId INTEGER NOT NULL, returnValue INTEGER NOT NULL, "
      "callchainId INTEGER);"
      "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT "
      "NULL, contextId INTEGER NOT NULL, greenContextId INTEGER, streamId INTEGER NOT NULL, correlationId INTEGER, "
      "globalPid INTEGER, demangledName INTEGER NOT NULL, shortName INTEGER NOT NULL, mangledName INTEGER, "
      "registersPerThread INTEGER NOT NULL, gridX INTEGER, gridY INTEGER, gridZ INTEGER, blockX INTEGER, blockY "
      "INTEGER, blockZ INTEGER, staticSharedMemory INTEGER, dynamicSharedMemory INTEGER, graphNodeId INTEGER);"
      "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT "
      "NULL, contextId INTEGER NOT NULL, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, bytes "
      "INTEGER NOT NULL, copyKind INTEGER NOT NULL, srcKind INTEGER, dstKind INTEGER, srcDeviceId INTEGER, dstDeviceId "
      "INTEGER, graphNodeId INTEGER);"
      "CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId "
      "INTEGER "
      "NOT NULL, contextId INTEGER NOT NULL, streamId INTEGER, correlationId INTEGER, globalPid INTEGER, syncType "
      "INTEGER NOT NULL, eventId INTEGER, eventSyncId INTEGER);");
}

int TestExport::Name(std::string_view text) {
  Run(fmt::format("INSERT INTO StringIds VALUES ({}, '{}')", ++name_count_, text));
  return name_count_;
}

void TestExport::CreateMemoryKinds() {
  Run("CREATE TABLE ENUM_CUDA_MEM_KIND (id INTEGER, name TEXT, label TEXT);"
      "INSERT INTO ENUM_CUDA_MEM_KIND VALUES (0, 'CUDA_MEMOPR_MEMORY_KIND_PAGEABLE', 'Pageable'),"
      "(1, 'CUDA_MEMOPR_MEMORY_KIND_PINNED', 'Pinned'), (2, 'CUDA_MEMOPR_MEMORY_KIND_DEVICE', 'Device'),"
      "(5, 'CUDA_MEMOPR_MEMORY_KIND_DEVICE_STATIC', 'Device Static'),"
      "(7, 'CUDA_MEMOPR_MEMORY_KIND_UNKNOWN', 'Unknown');");
}

void TestExport::Call(std::string_view name, int64_t start, int64_t end, int64_t correlation, int64_t pid,
                      int64_t tid) {
  const int event_class = name.starts_with("cuda") ? 0 : 1;
  Run(fmt::format("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES ({}, {}, {}, {}, {}, {}, 0, NULL)", start, end,
                  event_class, GlobalTidOf(pid, tid), correlation, Name(name)));
}

void TestExport::Kernel(std::string_view name, int64_t start, int64_t end, int64_t correlation, int64_t pid,
                        int64_t device) {
  const int id = Name(name);
  Run(
      fmt::format("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES ({}, {}, {}, 1, NULL, 7, {}, {}, {}, {}, NULL, 32, 4, "
                  "2, 1, 128, 1, 1, 0, 1024, NULL)",
                  start, end, device, correlation, GlobalPidOf(pid), id, id));
}

absl::StatusOr<Recording> TestExport::Read(const ImportOptions& options) {
  SH_ASSIGN_OR_RETURN(ImportSources sources, OpenSources(path_, options));
  SH_ASSIGN_OR_RETURN(std::unique_ptr<ImportedCapture> capture, NsysImporter().open(sources.sources.front()));
  Recording recording;
  Collector collector(recording);
  SH_RETURN_IF_ERROR(capture->Read(AllTables(), collector));
  recording.info = capture->info();
  for (size_t i = 0; i < capture->strings().size(); ++i) {
    recording.strings.emplace_back(capture->strings().Get(static_cast<StringId>(i)));
  }
  for (const LossRow& loss : recording.loss) {
    recording.losses[Info(loss.counter).id] += loss.count;
    if (loss.detail) recording.loss_details[Info(loss.counter).id] = recording.Text(*loss.detail);
  }
  capture->AddFacts(recording.facts);
  return recording;
}

}  // namespace stallhound::capture::nsys
