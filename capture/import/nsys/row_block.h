#pragma once

// Rows of a query, decoded: what readers see, so that others than the reader's thread can do the decoding.

#include <sqlite3.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace stallhound::capture::nsys {

enum class CellKind : uint8_t { kNull, kInteger, kText };  // any other value is kNull

struct RowBlock {
  static constexpr size_t kMaxTextBytes = 64 << 20;  // one text more may follow: places fit in 32 bits

  size_t row_count = 0;
  std::vector<int64_t> cells;   // row by row; of a text: its place in `texts`
  std::vector<CellKind> kinds;  // of the cells
  std::string texts;
  // Why it ends: SQLITE_ROW (it is full), SQLITE_DONE, or an error that came after its rows.
  int code = SQLITE_ROW;
  std::string error;  // in SQLite's words

  void Clear();
  void AddRow(std::span<sqlite3_value* const> values);
  // Replaces the content by the next rows of `statement`: at most `max_rows`, and fewer if their texts are long.
  void Fill(sqlite3_stmt* statement, size_t max_rows);
  std::string_view Text(int64_t cell) const {
    const auto place = static_cast<uint64_t>(cell);
    return std::string_view(texts).substr(place >> 32, place & 0xffffffff);
  }
};

// Some of a block's rows.
struct RowSpan {
  const RowBlock* block = nullptr;
  size_t first = 0;
  size_t count = 0;
};

// Where the rows of a query come from. Not thread-safe.
class RowSource {
 public:
  virtual ~RowSource() = default;
  // The next rows, valid until the next call. Without rows: the end, and block->code says why; not called again then.
  virtual RowSpan Next() = 0;
};

}  // namespace stallhound::capture::nsys
