#pragma once

// Rows as SQLite stores them ("Record Format" in its "Database File Format").

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "capture/import/nsys/row_block.h"
#include "capture/import/nsys/table_layout.h"

namespace stallhound::capture::nsys {

// Integers are read eight bytes at a time: so many must follow the end of a record.
inline constexpr size_t kBytesAfterRecord = 8;

// A number of up to nine bytes at `at`. Returns where it ends; null if not before `end`.
inline const uint8_t* ReadVarint(const uint8_t* at, const uint8_t* end, uint64_t& value) {
  if (at < end && *at < 0x80) {
    value = *at;
    return at + 1;
  }
  value = 0;
  for (int i = 0; i < 8 && at < end; ++i) {
    value = value << 7 | (*at & 0x7f);
    if (*at++ < 0x80) return at;
  }
  if (at >= end) return nullptr;
  value = value << 8 | *at;
  return at + 1;
}

// A record begins with a header of its values' types and lengths, and most records of a table have one of few headers:
// what a header means is worked out once. Not thread-safe.
class RecordReader {
 public:
  explicit RecordReader(const TableLayout& layout) : layout_(layout) {}

  // Appends a row to `block`, which must have room for its cells, unless the layout's filter leaves it out. False: the
  // record is damaged or does not hold all wanted values.
  bool Append(std::span<const uint8_t> record, int64_t rowid, RowBlock& block);

 private:
  static constexpr size_t kMaxWords = 8;  // of a header that is remembered
  using Header = std::array<uint64_t, kMaxWords>;

  struct Integer {
    size_t offset;  // of its bytes, from the end of the header
    int shift;      // of eight bytes from there
    size_t cell;
  };
  struct Constant {
    int64_t value;
    size_t cell;
  };
  struct Text {
    size_t offset;
    size_t bytes;
    size_t cell;
  };
  struct Shape {  // of the records with one header
    Header header{};
    size_t header_bytes = 0;  // 0: not known yet
    size_t record_bytes = 0;
    std::vector<CellKind> kinds;
    std::vector<Integer> integers;
    std::vector<Constant> constants;
    std::vector<Text> texts;
  };

  // Null: the header is damaged or lacks wanted values.
  const Shape* FindShape(std::span<const uint8_t> record);
  bool ReadHeader(std::span<const uint8_t> record, Shape& shape) const;
  static void AddValue(uint64_t type, size_t offset, size_t cell, Shape& shape);

  const TableLayout& layout_;
  std::array<Shape, 64> shapes_;  // by a hash of the header
  Shape other_;                   // with a header too long for that
  size_t last_ = 0;               // of `shapes_`
};

}  // namespace stallhound::capture::nsys
