#pragma once

// Where in 64 bytes certain characters stand, as bit masks (bit i: byte i). The one place with code for x86.

#include <bit>
#include <cstdint>
#include <cstring>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace stallhound::capture {

struct ByteMasks {
  uint64_t quote = 0;
  uint64_t backslash = 0;
  uint64_t open_brace = 0;
  uint64_t close_brace = 0;
  uint64_t close_bracket = 0;
  uint64_t newline = 0;
};

inline constexpr size_t kMaskBytes = 64;

#ifdef __SSE2__

inline ByteMasks FindBytes(const char* bytes) {
  ByteMasks masks;
  for (int part = 0; part < 4; ++part) {
    const __m128i v = _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes + 16 * part));
    const auto find = [v, part](char c) {
      return static_cast<uint64_t>(static_cast<uint32_t>(_mm_movemask_epi8(_mm_cmpeq_epi8(v, _mm_set1_epi8(c)))))
             << (16 * part);
    };
    masks.quote |= find('"');
    masks.backslash |= find('\\');
    masks.open_brace |= find('{');
    masks.close_brace |= find('}');
    masks.close_bracket |= find(']');
    masks.newline |= find('\n');
  }
  return masks;
}

#else

// Eight bytes at a time: a byte of `x` that is zero becomes a set bit, then the bits are gathered by a multiplication.
inline ByteMasks FindBytes(const char* bytes) {
  constexpr uint64_t kOnes = 0x0101010101010101;
  constexpr uint64_t kLow = 0x7f7f7f7f7f7f7f7f;
  ByteMasks masks;
  for (int part = 0; part < 8; ++part) {
    uint64_t word;
    memcpy(&word, bytes + 8 * part, sizeof word);
    if constexpr (std::endian::native == std::endian::big) word = __builtin_bswap64(word);
    const auto find = [word, part](char c) {
      const uint64_t x = word ^ (kOnes * static_cast<unsigned char>(c));
      const uint64_t zero = ~(((x & kLow) + kLow) | x | kLow) >> 7;
      return (zero * 0x0102040810204080) >> 56 << (8 * part);
    };
    masks.quote |= find('"');
    masks.backslash |= find('\\');
    masks.open_brace |= find('{');
    masks.close_brace |= find('}');
    masks.close_bracket |= find(']');
    masks.newline |= find('\n');
  }
  return masks;
}

#endif

// Bit i of the result: the parity of bits 0..i of `bits`; between quotes, that is "inside a string".
inline uint64_t PrefixXor(uint64_t bits) {
  bits ^= bits << 1;
  bits ^= bits << 2;
  bits ^= bits << 4;
  bits ^= bits << 8;
  bits ^= bits << 16;
  bits ^= bits << 32;
  return bits;
}

}  // namespace stallhound::capture
