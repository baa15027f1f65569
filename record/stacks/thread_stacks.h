#pragma once

// What a thread keeps for its stacks: its cache of code objects, the stacks it has written, and room for the next one.
// From mmap, pages used as they are touched; an exited thread's is handed to the next new thread.

#include <cstddef>
#include <cstdint>

#include "capture/spool/format.h"
#include "record/stacks/code_table.h"
#include "record/stacks/python_walk.h"
#include "record/stacks/stacks.h"

namespace stallhound::record {

class StackIds {
 public:
  // The id stored for `hash`, 0 if there is none.
  uint32_t Find(uint64_t hash) const;
  // When the table gets full it starts afresh: a stack is then written once more.
  void Add(uint64_t hash, uint32_t stack_id);

 private:
  static constexpr size_t kSlots = 8192;
  static constexpr size_t kMaxUsed = kSlots * 3 / 4;

  struct Slot {
    uint64_t hash;
    uint32_t stack_id;
  };

  size_t used_;
  Slot slots_[kSlots];
};

struct ThreadStacks {
  const StackRecorder* owner;
  uint64_t generation;
  ThreadStacks* next_free;
  RawFrame raw[kMaxPythonFrames];
  capture::spool::PythonFrame python[kMaxPythonFrames];
  uint64_t native[kMaxNativeFrames];
  CodeCache codes;
  StackIds ids;
};

// The calling thread's, emptied if it was last used by another recorder or generation. nullptr without memory.
ThreadStacks* CurrentThreadStacks(const StackRecorder* owner, uint64_t generation);

// After a fork, in the child: another thread of the parent may have been in the list of exited threads.
void UnlockThreadStacksInChild();

}  // namespace stallhound::record
