#include "record/stacks/python_text.h"

#include "record/stacks/utf8.h"

namespace stallhound::record {
namespace {

constexpr int64_t kMaxTextCharacters = 1 << 20;
constexpr int64_t kMaxBytesObject = 1 << 26;

struct TextState {
  uint32_t kind;  // bytes per character
  bool is_compact;
  bool is_ascii;
};

TextState Decode(uint32_t state, int shift) {
  return {(state >> shift) & 7, ((state >> (shift + 3)) & 1) != 0, ((state >> (shift + 4)) & 1) != 0};
}

bool IsUsable(const TextState& state) {
  return state.is_compact && (state.kind == 1 || state.kind == 2 || state.kind == 4);
}

// `interned` takes two bits, in free-threaded builds from 3.14 on a byte.
TextState ReadState(const PythonLayout& layout, Address text) {
  const uint32_t raw = ReadAt<uint32_t>(text, layout.text_state);
  if (layout.free_threaded) {
    const TextState wide = Decode(raw, 8);
    if (IsUsable(wide)) return wide;
  }
  return Decode(raw, 2);
}

uint32_t ReadCharacter(const void* data, uint32_t kind, size_t index) {
  switch (kind) {
    case 1:
      return static_cast<const uint8_t*>(data)[index];
    case 2:
      return static_cast<const uint16_t*>(data)[index];
    default:
      return static_cast<const uint32_t*>(data)[index];
  }
}

}  // namespace

size_t CopyPythonText(const PythonLayout& layout, Address text, char* out, size_t capacity) {
  if (!IsPlausible(text)) return 0;
  const int64_t length = ReadAt<int64_t>(text, layout.text_length);
  const TextState state = ReadState(layout, text);
  if (length <= 0 || length > kMaxTextCharacters || !IsUsable(state)) return 0;
  const void* data = reinterpret_cast<const void*>(text + (state.is_ascii ? layout.ascii_data : layout.compact_data));
  if (state.is_ascii) {
    const size_t bytes = static_cast<size_t>(length) < capacity ? static_cast<size_t>(length) : capacity;
    memcpy(out, data, bytes);
    return bytes;
  }
  size_t used = 0;
  for (size_t i = 0; i < static_cast<size_t>(length); ++i) {
    char encoded[4];
    const size_t bytes = EncodeUtf8(ReadCharacter(data, state.kind, i), encoded);
    if (used + bytes > capacity) break;
    memcpy(out + used, encoded, bytes);
    used += bytes;
  }
  return used;
}

PythonBytes ReadPythonBytes(const PythonLayout& layout, Address object) {
  if (!IsPlausible(object)) return {};
  const int64_t size = ReadAt<int64_t>(object, layout.size_field);
  if (size <= 0 || size > kMaxBytesObject) return {};
  return {reinterpret_cast<const uint8_t*>(object + layout.bytes_data), static_cast<uint32_t>(size)};
}

}  // namespace stallhound::record
