#include "capture/import/nsys/stored_record.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace stallhound::capture::nsys {
namespace {

constexpr uint64_t kFloat = 7;
constexpr uint64_t kZero = 8;
constexpr uint64_t kOne = 9;
constexpr uint64_t kFirstText = 13;  // odd from here on
constexpr size_t kWordBytes = 8;

uint64_t BytesOf(uint64_t type) {
  constexpr std::array<uint8_t, 12> kBytes = {0, 1, 2, 3, 4, 6, 8, 8, 0, 0, 0, 0};
  return type < kBytes.size() ? kBytes[type] : (type - kBytes.size()) / 2;
}

uint64_t Word(const uint8_t* at) {
  uint64_t word = 0;
  std::memcpy(&word, at, kWordBytes);
  if constexpr (std::endian::native == std::endian::little) word = __builtin_bswap64(word);
  return word;
}

// Of the first `bytes` of a record the i-th word; zeros behind them.
uint64_t HeaderWord(const uint8_t* record, size_t bytes, size_t i) {
  const uint64_t word = Word(record + i * kWordBytes);
  const size_t rest = bytes - i * kWordBytes;
  return rest >= kWordBytes ? word : word & ~(~uint64_t{0} >> 8 * rest);
}

}  // namespace

void RecordReader::AddValue(uint64_t type, size_t offset, size_t cell, Shape& shape) {
  if (type - 1 < kFloat - 1) {
    shape.integers.push_back({offset, static_cast<int>(64 - 8 * BytesOf(type)), cell});
    shape.kinds[cell] = CellKind::kInteger;
  } else if (type == kZero || type == kOne) {
    shape.constants.push_back({static_cast<int64_t>(type - kZero), cell});
    shape.kinds[cell] = CellKind::kInteger;
  } else if (type >= kFirstText && type % 2 == 1) {
    shape.texts.push_back({offset, BytesOf(type), cell});
    shape.kinds[cell] = CellKind::kText;
  }
}

bool RecordReader::ReadHeader(std::span<const uint8_t> record, Shape& shape) const {
  shape.kinds.assign(layout_.cell_count, CellKind::kNull);
  if (layout_.rowid_cell) shape.kinds[*layout_.rowid_cell] = CellKind::kInteger;
  shape.integers.clear();
  shape.constants.clear();
  shape.texts.clear();
  uint64_t header_bytes = 0;
  const uint8_t* type_at = ReadVarint(record.data(), record.data() + record.size(), header_bytes);
  if (type_at == nullptr || header_bytes > record.size()) return false;
  const uint8_t* const end = record.data() + header_bytes;
  uint64_t offset = 0;
  auto wanted = layout_.stored.begin();
  for (size_t place = 0; type_at != end; ++place) {
    uint64_t type = 0;
    type_at = ReadVarint(type_at, end, type);
    if (type_at == nullptr || BytesOf(type) > record.size()) return false;
    if (wanted != layout_.stored.end() && wanted->place == place) AddValue(type, offset, (wanted++)->cell, shape);
    offset += BytesOf(type);
  }
  shape.header_bytes = header_bytes;
  shape.record_bytes = header_bytes + offset;
  // A record may end early: the table has got columns since, with other values than NULL.
  return wanted == layout_.stored.end();
}

const RecordReader::Shape* RecordReader::FindShape(std::span<const uint8_t> record) {
  const size_t header_bytes = record.empty() ? 0 : record[0];
  const size_t word_count = (header_bytes + kWordBytes - 1) / kWordBytes;
  if (header_bytes == 0 || word_count > kMaxWords || header_bytes > record.size()) {
    return ReadHeader(record, other_) ? &other_ : nullptr;
  }
  const auto is_of = [&](const Shape& shape) {
    if (shape.header_bytes != header_bytes) return false;
    for (size_t i = 0; i < word_count; ++i) {
      if (shape.header[i] != HeaderWord(record.data(), header_bytes, i)) return false;
    }
    return true;
  };
  if (is_of(shapes_[last_])) return &shapes_[last_];
  uint64_t hash = 0;
  for (size_t i = 0; i < word_count; ++i) {
    hash = (hash ^ HeaderWord(record.data(), header_bytes, i)) * 0x9e3779b97f4a7c15;
    hash ^= hash >> 32;
  }
  last_ = hash % shapes_.size();
  Shape& shape = shapes_[last_];
  if (!is_of(shape)) {
    if (!ReadHeader(record, shape)) {
      shape.header_bytes = 0;
      return nullptr;
    }
    for (size_t i = 0; i < word_count; ++i) shape.header[i] = HeaderWord(record.data(), header_bytes, i);
  }
  return &shape;
}

bool RecordReader::Append(std::span<const uint8_t> record, int64_t rowid, RowBlock& block) {
  const Shape* const shape = FindShape(record);
  if (shape == nullptr || shape->record_bytes != record.size()) return false;
  const uint8_t* const values = record.data() + shape->header_bytes;
  int64_t* const cells = block.cells.data() + block.row_count * layout_.cell_count;
  CellKind* const kinds = block.kinds.data() + block.row_count * layout_.cell_count;
  std::copy(shape->kinds.begin(), shape->kinds.end(), kinds);
  for (const Integer& integer : shape->integers) {
    cells[integer.cell] = static_cast<int64_t>(Word(values + integer.offset)) >> integer.shift;
  }
  for (const Constant& constant : shape->constants) cells[constant.cell] = constant.value;
  if (layout_.rowid_cell) cells[*layout_.rowid_cell] = rowid;
  if (layout_.filter_cell) {
    const std::span<const int64_t> wanted = layout_.filter_values;
    const int64_t value = cells[*layout_.filter_cell];
    if (kinds[*layout_.filter_cell] != CellKind::kInteger) return true;
    if (std::find(wanted.begin(), wanted.end(), value) == wanted.end()) return true;
  }
  for (const Text& text : shape->texts) {
    cells[text.cell] = static_cast<int64_t>(block.texts.size() << 32 | text.bytes);
    block.texts.append(reinterpret_cast<const char*>(values) + text.offset, text.bytes);
  }
  ++block.row_count;
  return true;
}

}  // namespace stallhound::capture::nsys
