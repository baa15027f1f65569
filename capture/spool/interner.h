#pragma once

// Finds the id of a byte sequence that is already in the spool. The bytes themselves stay in the mapped file; the table
// lies in anonymous memory of its own, so that nothing here ever calls malloc. std only.

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace stallhound::capture::spool {

// A key in pieces, so that a record and its tail need not be copied together first.
struct Piece {
  const void* data;
  size_t bytes;
};

uint64_t HashPieces(uint32_t seed, const Piece* pieces, size_t count) noexcept;

class Interner {
 public:
  Interner() = default;
  Interner(const Interner&) = delete;
  Interner& operator=(const Interner&) = delete;
  ~Interner() { Clear(); }

  // The id of the key, or 0. Lock-free; may run beside one Insert.
  uint32_t Find(uint64_t hash, uint32_t kind, const Piece* pieces, size_t count) const noexcept;

  // Adds a key that Find did not find; `data` holds the pieces one after another and stays valid. One caller at a time.
  // False: out of memory, the key is not in the table.
  bool Insert(uint64_t hash, uint32_t kind, const void* data, uint32_t bytes, uint32_t id) noexcept;

  // Gives a key that Find finds another id. One caller at a time, and none of Insert's.
  void Replace(uint64_t hash, uint32_t kind, const Piece* pieces, size_t count, uint32_t id) noexcept;

  // Empties the table and returns its memory. Nobody else may be using it.
  void Clear() noexcept;

 private:
  struct Key {
    uint64_t hash;
    const uint8_t* data;
    uint32_t bytes;
    uint32_t kind;
  };
  struct Entry {
    Key key;
    std::atomic<uint32_t> id;  // 0: empty; published last
  };
  struct Table {
    Table* previous;  // kept: a reader may still be in it
    uint64_t capacity;
    uint64_t size;
    Entry entries[1];
  };

  // Null: the table has no such key.
  Entry* FindEntry(uint64_t hash, uint32_t kind, const Piece* pieces, size_t count) const noexcept;
  static Table* NewTable(uint64_t capacity, Table* previous) noexcept;
  static void Put(Table& table, const Key& key, uint32_t id) noexcept;

  std::atomic<Table*> table_{nullptr};
};

}  // namespace stallhound::capture::spool
