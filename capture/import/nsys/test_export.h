#pragma once

// Small Nsight exports written by tests, and all their rows as the importer gives them.

#include <absl/status/statusor.h>
#include <sqlite3.h>

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "capture/import/importer.h"

namespace stallhound::capture::nsys {

// Everything one read gave.
struct Recording {
  CaptureInfo info;
  std::map<std::string, int64_t> losses;  // text id -> count
  std::map<std::string, std::string> loss_details;
  ImportCounts facts;
#define SH_TEST_ROWS(Type, table, COLUMNS) std::vector<Type##Row> table;
  SH_CAPTURE_TABLES(SH_TEST_ROWS)
#undef SH_TEST_ROWS
  std::vector<std::string> strings;
  std::string_view Text(StringId id) const { return strings[static_cast<size_t>(id)]; }
  bool Notes(std::string_view words) const;  // some note holds these words
  bool IsRecorded(Table table) const { return info.recorded.test(static_cast<size_t>(table)); }
};

class TestExport {
 public:
  TestExport();
  ~TestExport();
  TestExport(const TestExport&) = delete;
  TestExport& operator=(const TestExport&) = delete;

  // Runs SQL on the file; a test's own mistake ends the test program.
  void Run(const std::string& sql);
  // CREATE TABLE for the event tables as Nsight 2025.3 writes them (schema 3.20), and StringIds.
  void CreateTables();
  // Adds to StringIds and returns the id.
  int Name(std::string_view text);
  // The ENUM table of memory kinds, in Nsight's numbering.
  void CreateMemoryKinds();
  // A runtime or driver call of process `pid`, thread `tid`.
  void Call(std::string_view name, int64_t start, int64_t end, int64_t correlation, int64_t pid = 7, int64_t tid = 9);
  void Kernel(std::string_view name, int64_t start, int64_t end, int64_t correlation, int64_t pid = 7,
              int64_t device = 0);

  const std::string& path() const { return path_; }
  absl::StatusOr<Recording> Read(const ImportOptions& options = {});

 private:
  std::string path_;
  sqlite3* database_ = nullptr;
  int name_count_ = 0;
};

constexpr int64_t GlobalPidOf(int64_t pid) { return int64_t{1} << 48 | pid << 24; }
constexpr int64_t GlobalTidOf(int64_t pid, int64_t tid) { return GlobalPidOf(pid) | tid; }

}  // namespace stallhound::capture::nsys
