#pragma once

// Memory for the recorder's tables, from mmap: callbacks run under the program's allocator locks, so malloc is out of
// reach. Never given back before Reset. Not thread-safe.

#include <cstddef>
#include <cstdint>

namespace stallhound::record {

// Zeroed pages, or nullptr. Pages take memory when they are first written.
void* MapPages(size_t bytes);
void UnmapPages(void* pages, size_t bytes);

class Arena {
 public:
  explicit constexpr Arena(size_t limit_bytes) : limit_bytes_(limit_bytes) {}

  // 8-aligned; nullptr beyond the limit or when the system has no memory.
  void* Allocate(size_t bytes);
  void Reset();

 private:
  struct Block {
    Block* next;
    size_t bytes;
  };

  size_t limit_bytes_;
  size_t mapped_bytes_ = 0;
  Block* blocks_ = nullptr;
  char* free_ = nullptr;
  size_t free_bytes_ = 0;
};

}  // namespace stallhound::record
