#pragma once

// Ids made of contents, which are stored and compared between runs: they must stay what they are. Quick and not safe
// against forgery; sha256.h is. FNV-1a, 64 bits (draft-eastlake-fnv).

#include <cstdint>
#include <string>
#include <string_view>

namespace stallhound {

inline constexpr uint64_t kFnvStart = 0xcbf29ce484222325;

// `hash` taken on by one byte, or by a word at once, which is not the same as by its eight bytes.
constexpr uint64_t AddFnv(uint64_t hash, uint64_t value) { return (hash ^ value) * 0x100000001b3; }

// `hash` taken on by all bytes.
constexpr uint64_t AddFnv(uint64_t hash, std::string_view bytes) {
  for (const char c : bytes) hash = AddFnv(hash, static_cast<unsigned char>(c));
  return hash;
}

// Version 8 of RFC 9562, a hash of one's own: 60 bits of `first` and 62 of `second`.
std::string ContentUuid(uint64_t first, uint64_t second);

}  // namespace stallhound
