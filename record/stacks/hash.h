#pragma once

// A 64-bit hash for the recorder's tables: word at a time, mixed by a 128-bit product.

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace stallhound::record {

inline uint64_t MixHash(uint64_t hash, uint64_t word) {
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(hash ^ 0x9e3779b97f4a7c15u) * (word ^ 0xd1b54a32d192ed03u);
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64) ^ (hash << 1);
}

inline uint64_t HashBytes(uint64_t hash, const void* data, size_t bytes) {
  const char* next = static_cast<const char*>(data);
  for (; bytes >= 8; bytes -= 8, next += 8) {
    uint64_t word;
    memcpy(&word, next, sizeof(word));
    hash = MixHash(hash, word);
  }
  uint64_t tail = 0;
  memcpy(&tail, next, bytes);
  return MixHash(hash, tail ^ (static_cast<uint64_t>(bytes) << 56));
}

}  // namespace stallhound::record
