#include "capture/import/nsys/stored_record.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

namespace stallhound::capture::nsys {
namespace {

constexpr uint64_t kFloat = 7;
constexpr uint64_t kZero = 8;
constexpr uint64_t kOne = 9;
constexpr uint64_t kFirstText = 13;  // odd from here on

uint64_t BytesOf(uint64_t type) {
  constexpr std::array<uint8_t, 12> kBytes = {0, 1, 2, 3, 4, 6, 8, 8, 0, 0, 0, 0};
  return type < kBytes.size() ? kBytes[type] : (type - kBytes.size()) / 2;
}

// `bytes` is 1 to 8.
int64_t SignedBigEndian(const uint8_t* at, uint64_t bytes) {
  uint64_t value = 0;
  std::memcpy(&value, at, sizeof value);
  if constexpr (std::endian::native == std::endian::little) value = __builtin_bswap64(value);
  return static_cast<int64_t>(value) >> (64 - 8 * bytes);
}

CellKind ReadValue(uint64_t type, std::span<const uint8_t> bytes, int64_t& cell, std::string& texts) {
  if (type - 1 < kFloat - 1) {
    cell = SignedBigEndian(bytes.data(), bytes.size());
    return CellKind::kInteger;
  }
  if (type == kZero || type == kOne) {
    cell = static_cast<int64_t>(type - kZero);
    return CellKind::kInteger;
  }
  if (type < kFirstText || type % 2 == 0) return CellKind::kNull;
  cell = static_cast<int64_t>(texts.size() << 32 | bytes.size());
  texts.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return CellKind::kText;
}

bool IsWanted(const TableLayout& layout, const int64_t* cells, const CellKind* kinds) {
  if (!layout.filter_cell) return true;
  return kinds[*layout.filter_cell] == CellKind::kInteger &&
         std::find(layout.filter_values.begin(), layout.filter_values.end(), cells[*layout.filter_cell]) !=
             layout.filter_values.end();
}

}  // namespace

bool AppendRecord(const TableLayout& layout, std::span<const uint8_t> record, int64_t rowid, RowBlock& block) {
  const uint8_t* const end = record.data() + record.size();
  uint64_t header_bytes = 0;
  const uint8_t* type_at = ReadVarint(record.data(), end, header_bytes);
  if (type_at == nullptr || header_bytes > record.size()) return false;
  const uint8_t* value = record.data() + header_bytes;
  const uint8_t* const types_end = value;
  int64_t* const cells = block.cells.data() + block.row_count * layout.cell_count;
  CellKind* const kinds = block.kinds.data() + block.row_count * layout.cell_count;
  std::fill_n(kinds, layout.cell_count, CellKind::kNull);
  const size_t texts_before = block.texts.size();
  size_t next_place = 0;
  for (const TableLayout::Stored& stored : layout.stored) {
    uint64_t type = 0;
    uint64_t bytes = 0;
    while (next_place <= stored.place) {
      value += bytes;
      // A record may end early: the table has got columns since, with other values than NULL.
      type_at = ReadVarint(type_at, types_end, type);
      if (type_at != nullptr) bytes = BytesOf(type);
      if (type_at == nullptr || bytes > static_cast<uint64_t>(end - value)) {
        block.texts.resize(texts_before);
        return false;
      }
      ++next_place;
    }
    kinds[stored.cell] = ReadValue(type, {value, bytes}, cells[stored.cell], block.texts);
    value += bytes;
  }
  if (layout.rowid_cell) {
    cells[*layout.rowid_cell] = rowid;
    kinds[*layout.rowid_cell] = CellKind::kInteger;
  }
  if (IsWanted(layout, cells, kinds)) {
    ++block.row_count;
  } else {
    block.texts.resize(texts_before);
  }
  return true;
}

}  // namespace stallhound::capture::nsys
