#include "capture/symbolize/python_lines.h"

#include <cstddef>

namespace stallhound::capture {
namespace {

using Table = std::span<const uint8_t>;

// Pairs of (bytes of code, signed lines): the line of an offset is the sum of all pairs that start at or before it.
std::optional<int32_t> FindInLnotab(Table table, int64_t line, int64_t offset) {
  int64_t start = 0;
  for (size_t i = 0; i + 1 < table.size(); i += 2) {
    start += table[i];
    if (start > offset) break;
    line += static_cast<int8_t>(table[i + 1]);
  }
  return static_cast<int32_t>(line);
}

// Pairs of (bytes of code, signed lines), each for the code it spans; -128 says that the span has no line.
std::optional<int32_t> FindInPep626(Table table, int64_t line, int64_t offset) {
  int64_t end = 0;
  for (size_t i = 0; i + 1 < table.size(); i += 2) {
    const auto delta = static_cast<int8_t>(table[i + 1]);
    end += table[i];
    if (delta != -128) line += delta;
    if (offset < end) return delta == -128 ? std::nullopt : std::optional<int32_t>(static_cast<int32_t>(line));
  }
  return std::nullopt;
}

class LocationReader {
 public:
  explicit LocationReader(Table table) : table_(table) {}

  bool AtEnd() const { return position_ >= table_.size(); }
  uint8_t Byte() { return AtEnd() ? 0 : table_[position_++]; }
  // Six bits a byte, lowest first; bit 6 says that more follow.
  uint32_t Unsigned() {
    uint32_t value = 0;
    uint8_t byte = 0;
    int shift = 0;
    do {
      byte = Byte();
      if (shift < 32) value |= static_cast<uint32_t>(byte & 0x3f) << shift;
      shift += 6;
    } while ((byte & 0x40) != 0 && !AtEnd());
    return value;
  }
  // The sign is the lowest bit.
  int32_t Signed() {
    const uint32_t value = Unsigned();
    const auto magnitude = static_cast<int32_t>(value >> 1);
    return (value & 1) != 0 ? -magnitude : magnitude;
  }

 private:
  Table table_;
  size_t position_ = 0;
};

// Entry codes of PEP 657 (Objects/locations.md of CPython); below kOneLine0 the entry is on the line before it.
enum LocationCode : uint8_t { kOneLine0 = 10, kOneLine2 = 12, kNoColumns = 13, kLong = 14, kNone = 15 };

// Reads the entry's body; returns its change of line.
int32_t ReadLineDelta(uint8_t code, LocationReader& reader) {
  if (code == kNone) return 0;
  if (code == kNoColumns) return reader.Signed();
  if (code == kLong) {
    const int32_t delta = reader.Signed();
    for (int field = 0; field < 3; ++field) reader.Unsigned();  // end line, column, end column
    return delta;
  }
  reader.Byte();  // columns
  if (code < kOneLine0) return 0;
  reader.Byte();
  return code - kOneLine0;
}

std::optional<int32_t> FindInPep657(Table table, int64_t line, int64_t offset) {
  LocationReader reader(table);
  int64_t end = 0;
  while (!reader.AtEnd()) {
    const uint8_t first = reader.Byte();
    if ((first & 0x80) == 0) return std::nullopt;
    const uint8_t code = (first >> 3) & 0xf;
    end += 2 * ((first & 7) + 1);
    line += ReadLineDelta(code, reader);
    if (offset < end) return code == kNone ? std::nullopt : std::optional<int32_t>(static_cast<int32_t>(line));
  }
  return std::nullopt;
}

}  // namespace

std::optional<int32_t> FindPythonLine(uint32_t python_version, std::span<const uint8_t> table, int32_t first_line,
                                      int32_t instruction_offset) {
  if (instruction_offset < 0) return first_line;
  if (python_version < 0x030a) return FindInLnotab(table, first_line, instruction_offset);
  if (python_version == 0x030a) return FindInPep626(table, first_line, instruction_offset);
  return FindInPep657(table, first_line, instruction_offset);
}

}  // namespace stallhound::capture
