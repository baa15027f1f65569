#pragma once

#include <cstddef>
#include <cstdint>

namespace stallhound::record {

// Writes a code point as UTF-8 and returns its bytes; what is none (surrogates too) as U+FFFD.
inline size_t EncodeUtf8(uint32_t character, char out[4]) {
  if (character > 0x10ffff || (character >= 0xd800 && character <= 0xdfff)) character = 0xfffd;
  auto tail = [character](int shift) { return static_cast<char>(0x80 | ((character >> shift) & 0x3f)); };
  if (character < 0x80) {
    out[0] = static_cast<char>(character);
    return 1;
  }
  if (character < 0x800) {
    out[0] = static_cast<char>(0xc0 | (character >> 6));
    out[1] = tail(0);
    return 2;
  }
  if (character < 0x10000) {
    out[0] = static_cast<char>(0xe0 | (character >> 12));
    out[1] = tail(6);
    out[2] = tail(0);
    return 3;
  }
  out[0] = static_cast<char>(0xf0 | (character >> 18));
  out[1] = tail(12);
  out[2] = tail(6);
  out[3] = tail(0);
  return 4;
}

}  // namespace stallhound::record
