#pragma once

// Code objects that were written to the spool, known by content: file, name, first line and line table. One per
// process. CodeCache (one per thread) answers for a pointer without a lock, after checking that the code object there
// still is the one it knew: a freed code object's address comes again.

#include <cstddef>
#include <cstdint>
#include <mutex>

#include "record/stacks/arena.h"
#include "record/stacks/python_runtime.h"
#include "record/stacks/stack_sink.h"

namespace stallhound::record {

struct KnownCode {
  uint64_t content_hash;
  const uint8_t* table;  // own copy
  uint32_t table_bytes;
  uint32_t code_id;
  KnownCode* next;  // of the same bucket
};

class CodeTable {
 public:
  // The entry of the code object's content; writes its record the first time. nullptr when the table is full or the
  // record could not be written. Takes the table's lock; `sink` is called under it.
  const KnownCode* Intern(const PythonRuntime& runtime, Address code, StackSink& sink);
  // After a fork, in the child: another thread of the parent may have held the lock.
  void UnlockInChild();

 private:
  static constexpr size_t kBuckets = 1 << 14;
  static constexpr size_t kFileBytes = 4096;
  static constexpr size_t kNameBytes = 1024;

  void StartOver(uint64_t generation);
  KnownCode* Add(const PythonCode& code, uint64_t hash, uint32_t name_bytes, uint32_t file_bytes, StackSink& sink);

  std::mutex mutex_;
  uint64_t generation_ = 0;  // of the sink's ids
  Arena arena_{64 << 20};
  KnownCode* buckets_[kBuckets] = {};
  char file_[kFileBytes];  // under mutex_
  char name_[kNameBytes];
};

class CodeCache {
 public:
  // The id of the code object at `code`; 0 if it could not be recorded. Cost of a hit: the compares in Matches.
  uint32_t Find(const PythonRuntime& runtime, Address code, CodeTable& table, StackSink& sink);

 private:
  static constexpr size_t kSets = 512;
  static constexpr size_t kWays = 4;

  struct Entry {
    Address code;
    Address file;
    Address name;
    Address table;
    int64_t file_length;
    int64_t file_hash;
    int64_t name_length;
    int64_t name_hash;
    const KnownCode* known;
    int32_t first_line;
  };

  static bool Matches(const PythonLayout& layout, const Entry& entry);
  static void Fill(const PythonLayout& layout, Address code, const KnownCode* known, Entry& entry);

  Entry entries_[kSets][kWays];
  uint8_t next_way_[kSets];
};

}  // namespace stallhound::record
