#include "capture/spool/interner.h"

#include <string.h>
#include <sys/mman.h>

namespace stallhound::capture::spool {
namespace {

constexpr uint64_t kFirstCapacity = 4096;  // a power of two

uint64_t Mix(uint64_t a, uint64_t b) {
  const unsigned __int128 product = static_cast<unsigned __int128>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

bool Equal(const uint8_t* data, const Piece* pieces, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (memcmp(data, pieces[i].data, pieces[i].bytes) != 0) return false;
    data += pieces[i].bytes;
  }
  return true;
}

size_t TableBytes(uint64_t capacity, size_t header_bytes, size_t entry_bytes) {
  return header_bytes + capacity * entry_bytes;
}

}  // namespace

uint64_t HashPieces(uint32_t seed, const Piece* pieces, size_t count) noexcept {
  constexpr uint64_t kMultiplier = 0x9e3779b97f4a7c15ull;
  uint64_t hash = Mix(seed + 1, kMultiplier);
  for (size_t i = 0; i < count; ++i) {
    const uint8_t* data = static_cast<const uint8_t*>(pieces[i].data);
    size_t left = pieces[i].bytes;
    hash ^= left;
    while (left > 0) {
      uint64_t word = 0;
      const size_t step = left < 8 ? left : 8;
      memcpy(&word, data, step);
      hash = Mix(hash ^ word, kMultiplier) + word;
      data += step;
      left -= step;
    }
  }
  return hash;
}

Interner::Entry* Interner::FindEntry(uint64_t hash, uint32_t kind, const Piece* pieces, size_t count) const noexcept {
  Table* table = table_.load(std::memory_order_acquire);
  if (table == nullptr) return nullptr;
  size_t bytes = 0;
  for (size_t i = 0; i < count; ++i) bytes += pieces[i].bytes;
  for (uint64_t slot = hash;; ++slot) {
    Entry& entry = table->entries[slot & (table->capacity - 1)];
    if (entry.id.load(std::memory_order_acquire) == 0) return nullptr;
    const Key& key = entry.key;
    if (key.hash == hash && key.kind == kind && key.bytes == bytes && Equal(key.data, pieces, count)) return &entry;
  }
}

uint32_t Interner::Find(uint64_t hash, uint32_t kind, const Piece* pieces, size_t count) const noexcept {
  const Entry* entry = FindEntry(hash, kind, pieces, count);
  return entry == nullptr ? 0 : entry->id.load(std::memory_order_acquire);
}

void Interner::Replace(uint64_t hash, uint32_t kind, const Piece* pieces, size_t count, uint32_t id) noexcept {
  if (Entry* entry = FindEntry(hash, kind, pieces, count)) entry->id.store(id, std::memory_order_release);
}

Interner::Table* Interner::NewTable(uint64_t capacity, Table* previous) noexcept {
  void* memory = mmap(nullptr, TableBytes(capacity, sizeof(Table), sizeof(Entry)), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  Table* table = static_cast<Table*>(memory);
  table->capacity = capacity;
  table->previous = previous;
  return table;
}

void Interner::Put(Table& table, const Key& key, uint32_t id) noexcept {
  uint64_t slot = key.hash & (table.capacity - 1);
  while (table.entries[slot].id.load(std::memory_order_relaxed) != 0) slot = (slot + 1) & (table.capacity - 1);
  table.entries[slot].key = key;
  table.entries[slot].id.store(id, std::memory_order_release);
  ++table.size;
}

bool Interner::Insert(uint64_t hash, uint32_t kind, const void* data, uint32_t bytes, uint32_t id) noexcept {
  Table* table = table_.load(std::memory_order_relaxed);
  if (table == nullptr || table->size * 2 >= table->capacity) {
    Table* larger = NewTable(table == nullptr ? kFirstCapacity : table->capacity * 2, table);
    if (larger == nullptr) return false;
    for (uint64_t i = 0; table != nullptr && i < table->capacity; ++i) {
      const Entry& entry = table->entries[i];
      const uint32_t old_id = entry.id.load(std::memory_order_relaxed);
      if (old_id != 0) Put(*larger, entry.key, old_id);
    }
    table = larger;
    table_.store(table, std::memory_order_release);
  }
  Put(*table, {hash, static_cast<const uint8_t*>(data), bytes, kind}, id);
  return true;
}

void Interner::Clear() noexcept {
  Table* table = table_.exchange(nullptr, std::memory_order_acq_rel);
  while (table != nullptr) {
    Table* previous = table->previous;
    munmap(table, TableBytes(table->capacity, sizeof(Table), sizeof(Entry)));
    table = previous;
  }
}

}  // namespace stallhound::capture::spool
