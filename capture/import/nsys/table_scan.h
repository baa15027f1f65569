#pragma once

// A whole table, read by several threads with a connection each: ranges of rowids are decoded ahead of the reader, who
// gets them in order and decodes some himself rather than wait.

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/sqlite/sqlite.h"
#include "capture/import/nsys/row_block.h"
#include "capture/import/nsys/table_layout.h"
#include "capture/import/nsys/table_pages.h"

namespace stallhound::capture::nsys {

enum class RowOrder {
  kStorage,
  kByStart,             // by the first column
  kByStartLongestFirst  // by the first column, then by the second from the largest
};

struct ScanPlan {
  std::string sql;  // selects the rows with ?1 <= rowid <= ?2
  size_t column_count = 0;
  std::optional<TableLayout> layout;  // unless only SQLite can read the table
  std::vector<RowidRange> runs;       // each is in `order` by itself; they are merged
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

  // A run by its next row.
  struct Head {
    const RowBlock* block = nullptr;
    size_t run = 0;
  };
  // What one thread decodes with.
  struct Decoder {
    SqliteStatement statement;
    std::optional<TablePages> pages;
  };

  Decoder MakeDecoder(SqliteStatement statement) const;
  void Request(Run& run, std::unique_ptr<Chunk> chunk);
  // The block with the next row of `run`, or with the error before it; null at the run's end.
  const RowBlock* Front(Run& run);
  // True if row `a_row` of `a` comes before the next one of `b`; rows that are equal come in the order of their runs.
  bool Precedes(const Head& a, size_t a_row, const Head& b) const;
  // Puts a run among `heads_` unless it is at its end. Returns the block if there is an error instead of its next row.
  const RowBlock* AddHead(size_t run);
  void Decode(Decoder& decoder, Chunk& chunk) const;
  void Help(sqlite3* connection);

  const ScanPlan plan_;
  Decoder decoder_;
  const std::shared_ptr<const Helpers> helpers_;
  const int64_t chunk_rows_;
  std::vector<Run> runs_;
  std::vector<Head> heads_;  // by their next rows
  RowBlock end_;

  std::mutex mutex_;
  std::condition_variable has_request_;
  std::condition_variable has_block_;
  std::deque<Chunk*> requests_;
  bool is_ending_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace stallhound::capture::nsys
