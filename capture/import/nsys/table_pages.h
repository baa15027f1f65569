#pragma once

// Rows of a table from the pages of the file itself ("B-tree Pages" in SQLite's "Database File Format"), which takes a
// fraction of a statement's time. What is not plain is left to SQLite: damage, records that go on in overflow pages,
// text that is not UTF-8.

#include <sqlite3.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "capture/import/nsys/row_block.h"
#include "capture/import/nsys/stored_record.h"
#include "capture/import/nsys/table_layout.h"

namespace stallhound::capture::nsys {

struct RowidRange {
  int64_t first = 0;
  int64_t last = 0;  // included
};

// Not thread-safe; holds 64 KiB and a page for each level of the tree.
class TablePages {
 public:
  // Reads the file of `connection`, which must live as long and be immutable.
  TablePages(sqlite3* connection, const TableLayout& layout);

  // Replaces the content of `block` by the rows in `range`; their number must be in the order of its length. False: a
  // statement must read them, all of them.
  bool Read(const RowidRange& range, RowBlock& block);

 private:
  struct Level {  // an inner page on the way to the leaf
    uint32_t page = 0;
    std::vector<uint8_t> bytes;
    size_t key_count = 0;
    size_t next_child = 0;
  };
  static constexpr uint32_t kNoLeaf = 0;
  enum class Progress { kMore, kEnd, kUnreadable };

  bool ReadFile(uint64_t offset, std::span<uint8_t> bytes);
  // Valid until the next call; null if it cannot be.
  const uint8_t* Page(uint32_t page);
  // The page below `level` at `child`, and the largest rowid there; both 0 if they are damaged.
  std::pair<uint32_t, int64_t> Child(const Level& level, size_t child) const;
  // The leaf for `rowid` in the tree below `page`, which is at `depth_`. nullopt: unreadable.
  std::optional<uint32_t> Descend(uint32_t page, int64_t rowid);
  std::optional<uint32_t> NextLeaf();
  Progress ReadLeaf(const uint8_t* page, const RowidRange& range, RowBlock& block);

  const TableLayout& layout_;
  RecordReader records_;
  sqlite3_file* file_ = nullptr;
  uint32_t page_bytes_ = 0;  // 0: unreadable
  uint32_t usable_bytes_ = 0;
  std::vector<uint8_t> window_;  // of the file, whole pages
  uint64_t window_offset_ = UINT64_MAX;
  std::vector<Level> levels_;  // those from `depth_` on are kept for the next range
  size_t depth_ = 0;
  std::optional<int64_t> last_rowid_;  // of the range
};

}  // namespace stallhound::capture::nsys
