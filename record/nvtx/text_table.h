#pragma once

// Texts that NVTX knows by handle (domains, registered strings): equal texts have one handle, so the same domain made
// by several modules is one. Handles stay valid for ever, in forked children too; their ids in the spool are looked up
// again there. Memory comes from mmap.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string_view>

#include "record/stacks/arena.h"

namespace stallhound::record {

class TextTable {
 public:
  using Handle = uint32_t;  // from 1; 0: none

  // The handle of `text`; 0 when the table is full. Takes a lock.
  Handle Add(std::string_view text);
  // False for what is no handle. Lock-free.
  bool Get(Handle handle, std::string_view& text) const;
  // The id of a text in the spool of `generation`, made by `make(text)` the first time. 0 for what is no handle.
  template <typename Make>
  uint32_t IdOf(Handle handle, uint64_t generation, Make make);
  // After a fork, in the child.
  void UnlockInChild();

 private:
  static constexpr uint32_t kChunkEntries = 1024;
  static constexpr uint32_t kChunks = 256;
  static constexpr uint32_t kBuckets = 4096;

  struct Entry {
    const char* text;
    uint32_t bytes;
    Handle next;                   // of the same bucket
    std::atomic<uint64_t> cached;  // low half of the generation, then the id
  };

  Entry* Find(Handle handle) const;
  Handle Append(std::string_view text, Handle next);

  std::mutex mutex_;
  Arena arena_{16 << 20};
  std::atomic<uint32_t> count_{0};
  std::atomic<Entry*> chunks_[kChunks] = {};
  Handle buckets_[kBuckets] = {};
};

template <typename Make>
uint32_t TextTable::IdOf(Handle handle, uint64_t generation, Make make) {
  Entry* entry = Find(handle);
  if (entry == nullptr) return 0;
  const uint64_t cached = entry->cached.load(std::memory_order_relaxed);
  if (cached >> 32 == (generation & 0xffffffff) && static_cast<uint32_t>(cached) != 0) {
    return static_cast<uint32_t>(cached);
  }
  const uint32_t id = make(std::string_view(entry->text, entry->bytes));
  entry->cached.store(generation << 32 | id, std::memory_order_relaxed);
  return id;
}

}  // namespace stallhound::record
