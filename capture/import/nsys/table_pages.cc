#include "capture/import/nsys/table_pages.h"

#include <algorithm>
#include <array>

namespace stallhound::capture::nsys {
namespace {

constexpr uint8_t kInnerPage = 5;
constexpr uint8_t kLeafPage = 13;
constexpr size_t kInnerHeaderBytes = 12;
constexpr size_t kLeafHeaderBytes = 8;
constexpr size_t kMaxDepth = 20;  // SQLite's
// The leaves of a table mostly follow one another. 256 KiB were no faster in order of time, and 8% slower by thread.
constexpr uint32_t kWindowBytes = 64 << 10;

uint32_t BigEndian(const uint8_t* at, size_t bytes) {
  uint32_t value = 0;
  for (size_t i = 0; i < bytes; ++i) value = value << 8 | at[i];
  return value;
}

}  // namespace

TablePages::TablePages(sqlite3* connection, const TableLayout& layout) : layout_(layout), records_(layout) {
  std::array<uint8_t, 100> header{};
  if (sqlite3_file_control(connection, "main", SQLITE_FCNTL_FILE_POINTER, &file_) != SQLITE_OK || file_ == nullptr ||
      file_->pMethods == nullptr || !ReadFile(0, header)) {
    return;
  }
  constexpr uint32_t kUtf8 = 1;
  const uint32_t stored = BigEndian(&header[16], 2);
  const uint32_t page_bytes = stored == 1 ? 65536 : stored;
  const bool is_power = page_bytes >= 512 && (page_bytes & (page_bytes - 1)) == 0;
  if (!is_power || page_bytes - header[20] < 480 || BigEndian(&header[56], 4) != kUtf8) return;
  page_bytes_ = page_bytes;
  usable_bytes_ = page_bytes - header[20];
  window_.resize(kWindowBytes + kBytesAfterRecord);
}

bool TablePages::ReadFile(uint64_t offset, std::span<uint8_t> bytes) {
  const int code =
      file_->pMethods->xRead(file_, bytes.data(), static_cast<int>(bytes.size()), static_cast<sqlite3_int64>(offset));
  return code == SQLITE_OK || code == SQLITE_IOERR_SHORT_READ;  // the rest is zero: no page's type
}

const uint8_t* TablePages::Page(uint32_t page) {
  if (page < 2) return nullptr;  // the first one is the schema's
  const uint64_t offset = uint64_t{page - 1} * page_bytes_;
  const uint64_t window_offset = offset / kWindowBytes * kWindowBytes;
  if (window_offset != window_offset_) {
    window_offset_ = UINT64_MAX;
    if (!ReadFile(window_offset, std::span(window_).first(kWindowBytes))) return nullptr;
    window_offset_ = window_offset;
  }
  return window_.data() + (offset - window_offset);
}

std::pair<uint32_t, int64_t> TablePages::Child(const Level& level, size_t child) const {
  const uint8_t* const bytes = level.bytes.data();
  if (child == level.key_count) return {BigEndian(bytes + 8, 4), INT64_MAX};
  const uint32_t cell = BigEndian(bytes + kInnerHeaderBytes + 2 * child, 2);
  uint64_t rowid = 0;
  if (cell + 4 > usable_bytes_ || ReadVarint(bytes + cell + 4, bytes + usable_bytes_, rowid) == nullptr) return {0, 0};
  return {BigEndian(bytes + cell, 4), static_cast<int64_t>(rowid)};
}

std::optional<uint32_t> TablePages::Descend(uint32_t page, int64_t rowid) {
  while (depth_ < kMaxDepth) {
    if (depth_ == levels_.size()) levels_.emplace_back();
    Level& level = levels_[depth_];
    if (level.page != page || page == 0) {
      const uint8_t* const bytes = Page(page);
      if (bytes == nullptr) return std::nullopt;
      if (bytes[0] == kLeafPage) return page;
      const size_t key_count = BigEndian(bytes + 3, 2);
      if (bytes[0] != kInnerPage || kInnerHeaderBytes + 2 * key_count > usable_bytes_) return std::nullopt;
      level = {.page = page, .bytes = {bytes, bytes + page_bytes_}, .key_count = key_count};
    }
    size_t first = 0;
    for (size_t last = level.key_count; first < last;) {
      const size_t middle = (first + last) / 2;
      if (Child(level, middle).second < rowid) {
        first = middle + 1;
      } else {
        last = middle;
      }
    }
    page = Child(level, first).first;
    level.next_child = first + 1;
    ++depth_;
  }
  return std::nullopt;
}

std::optional<uint32_t> TablePages::NextLeaf() {
  for (; depth_ > 0; --depth_) {
    Level& level = levels_[depth_ - 1];
    if (level.next_child <= level.key_count) return Descend(Child(level, level.next_child++).first, INT64_MIN);
  }
  return kNoLeaf;
}

TablePages::Progress TablePages::ReadLeaf(const uint8_t* page, const RowidRange& range, RowBlock& block) {
  const size_t row_count = BigEndian(page + 3, 2);
  const size_t cells_begin = kLeafHeaderBytes + 2 * row_count;
  if (row_count == 0 || cells_begin > usable_bytes_) return Progress::kUnreadable;
  const uint8_t* const end = page + usable_bytes_;
  for (size_t i = 0; i < row_count; ++i) {
    const uint32_t cell = BigEndian(page + kLeafHeaderBytes + 2 * i, 2);
    uint64_t record_bytes = 0;
    uint64_t stored_rowid = 0;
    const bool is_inside = cell >= cells_begin && cell < usable_bytes_;
    const uint8_t* record = is_inside ? ReadVarint(page + cell, end, record_bytes) : nullptr;
    if (record != nullptr) record = ReadVarint(record, end, stored_rowid);
    if (record == nullptr) return Progress::kUnreadable;
    const auto rowid = static_cast<int64_t>(stored_rowid);
    if (last_rowid_ && rowid <= *last_rowid_) return Progress::kUnreadable;
    last_rowid_ = rowid;
    if (rowid < range.first) continue;
    if (rowid > range.last) return Progress::kEnd;
    // Of a longer one the end is in overflow pages.
    if (record_bytes > usable_bytes_ - 35 || record_bytes > static_cast<uint64_t>(end - record) ||
        !records_.Append({record, record_bytes}, rowid, block)) {
      return Progress::kUnreadable;
    }
  }
  return block.texts.size() <= RowBlock::kMaxTextBytes ? Progress::kMore : Progress::kUnreadable;
}

bool TablePages::Read(const RowidRange& range, RowBlock& block) {
  block.Clear();
  if (page_bytes_ == 0) return false;
  // At once: growing with the rows would touch twice the memory.
  block.cells.resize(
      std::max(block.cells.size(), static_cast<size_t>(range.last - range.first + 1) * layout_.cell_count));
  block.kinds.resize(block.cells.size());
  depth_ = 0;
  last_rowid_.reset();
  std::optional<uint32_t> leaf = Descend(layout_.root_page, range.first);
  for (; leaf && *leaf != kNoLeaf; leaf = NextLeaf()) {
    const Progress progress = ReadLeaf(Page(*leaf), range, block);
    if (progress == Progress::kUnreadable) return false;
    if (progress == Progress::kEnd) break;
  }
  block.code = SQLITE_DONE;
  return leaf.has_value();
}

}  // namespace stallhound::capture::nsys
