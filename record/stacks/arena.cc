#include "record/stacks/arena.h"

#include <sys/mman.h>

namespace stallhound::record {
namespace {

constexpr size_t kBlockBytes = 256 * 1024;

}  // namespace

void* MapPages(size_t bytes) {
  void* pages = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return pages == MAP_FAILED ? nullptr : pages;
}

void UnmapPages(void* pages, size_t bytes) { munmap(pages, bytes); }

void* Arena::Allocate(size_t bytes) {
  bytes = (bytes + 7) & ~size_t{7};
  if (bytes > free_bytes_) {
    const size_t block_bytes = bytes + sizeof(Block) > kBlockBytes ? bytes + sizeof(Block) : kBlockBytes;
    if (mapped_bytes_ + block_bytes > limit_bytes_) return nullptr;
    auto* block = static_cast<Block*>(MapPages(block_bytes));
    if (block == nullptr) return nullptr;
    *block = {blocks_, block_bytes};
    blocks_ = block;
    mapped_bytes_ += block_bytes;
    free_ = reinterpret_cast<char*>(block + 1);
    free_bytes_ = block_bytes - sizeof(Block);
  }
  void* result = free_;
  free_ += bytes;
  free_bytes_ -= bytes;
  return result;
}

void Arena::Reset() {
  while (blocks_ != nullptr) {
    Block* next = blocks_->next;
    UnmapPages(blocks_, blocks_->bytes);
    blocks_ = next;
  }
  mapped_bytes_ = 0;
  free_ = nullptr;
  free_bytes_ = 0;
}

}  // namespace stallhound::record
