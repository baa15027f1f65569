#pragma once

// A whole table, read by several threads with a connection each: ranges of rowids are decoded ahead of the reader, who
// gets them in order and decodes some himself rather than wait.

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/sqlite/sqlite.h"
#include "capture/import/nsys/row_block.h"

namespace stallhound::capture::nsys {

enum class RowOrder {
  kStorage,
  kByStart,             // by the first column
  kByStartLongestFirst  // by the first column, then by the second from the largest
};

struct RowidRange {
  int64_t first = 0;
  int64_t last = 0;  // included
};

// An SQL function that scans hand all rows to, so that SQLite returns once for thousands of them. AddTakeRows makes it
// known to a connection and returns SQLite's code.
inline constexpr char kTakeRows[] = "stallhound_take_rows";
int AddTakeRows(sqlite3* connection);

struct ScanPlan {
  std::string sql;  // selects kTakeRows(columns) of the rows with ?1 <= rowid <= ?2
  size_t column_count = 0;
  std::vector<RowidRange> runs;  // each is in `order` by itself; they are merged
  RowOrder order = RowOrder::kStorage;
};

// Connections to the same file, for threads that decode; whoever holds them uses them.
using Helpers = std::vector<SqliteConnection>;

// Holds up to 8 blocks of 8192 rows; with runs two for each, of 1024 rows if there are many.
class TableScan : public RowSource {
 public:
  // `statement` is `plan.sql`, prepared on a connection that only this thread uses meanwhile. Each of `helpers` gets a
  // thread, unless the table is small; null: no threads.
  TableScan(ScanPlan plan, SqliteStatement statement, std::shared_ptr<const Helpers> helpers);
  ~TableScan() override;

  RowSpan Next() override;

 private:
  struct Chunk {
    RowidRange range;
    RowBlock block;
    bool is_done = false;
  };
  struct Run {
    RowidRange rest;  // not requested yet
    bool has_rest = true;
    std::deque<std::unique_ptr<Chunk>> chunks;  // in order
    size_t next_row = 0;                        // of the first chunk
  };

  void Request(Run& run, std::unique_ptr<Chunk> chunk);
  // The block with the next row of `run`, or with the error before it; null at the run's end.
  const RowBlock* Front(Run& run);
  void Decode(sqlite3_stmt* statement, Chunk& chunk);
  void Help(sqlite3* connection);

  const ScanPlan plan_;
  SqliteStatement statement_;
  const std::shared_ptr<const Helpers> helpers_;
  const int64_t chunk_rows_;
  std::vector<Run> runs_;
  RowBlock end_;

  std::mutex mutex_;
  std::condition_variable has_request_;
  std::condition_variable has_block_;
  std::deque<Chunk*> requests_;
  bool is_ending_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace stallhound::capture::nsys
