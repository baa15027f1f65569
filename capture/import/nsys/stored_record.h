#pragma once

// One row as SQLite stores it (https://www.sqlite.org/fileformat2.html#record_format).

#include <cstddef>
#include <cstdint>
#include <span>

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

// Appends the row to `block`, which must have room for its cells, unless the layout's filter leaves it out. False: it
// does not hold all wanted values; the block is as before.
bool AppendRecord(const TableLayout& layout, std::span<const uint8_t> record, int64_t rowid, RowBlock& block);

}  // namespace stallhound::capture::nsys
