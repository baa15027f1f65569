#pragma once

// Stacks of the calling thread for the spool, taken inside CUDA calls of any program: Python frames without the GIL
// (CPython 3.9 to 3.14, free-threaded too), else native frames. Takes no Python lock and no reference, allocates
// nothing on the heap, and writes a stack once: the same stack again costs no record.
//
// Loss is counted in the sink: python-unknown (a Python whose frames are not known) and stack-not-taken (the
// interpreter shuts down), the native stack is taken for both; stack-not-taken too if there is no stack at all or its
// record could not be written; stack-truncated (deeper than kMaxPythonFrames or kMaxNativeFrames: the innermost are
// kept).

#include <atomic>
#include <cstdint>

#include "record/stacks/code_table.h"
#include "record/stacks/python_runtime.h"
#include "record/stacks/python_walk.h"
#include "record/stacks/stack_sink.h"

namespace stallhound::record {

inline constexpr int kMaxPythonFrames = 128;
inline constexpr int kMaxNativeFrames = 32;

struct ThreadStacks;

class StackRecorder {
 public:
  explicit StackRecorder(StackSink& sink) : sink_(sink) {}
  StackRecorder(const StackRecorder&) = delete;
  StackRecorder& operator=(const StackRecorder&) = delete;

  // Looks for Python and readies the unwinder. May take the loader's lock: call it at initialisation and then from the
  // recorder's own thread now and then (Python can be loaded after CUDA); never from a callback, never from two threads
  // at once. Next to nothing when no library was loaded since.
  void Refresh();
  // For tests: a runtime that is already known. Call before the first Take.
  void UseRuntime(const PythonRuntime& runtime);

  // The id of the calling thread's stack, 0 if none could be taken. Call it from any thread; `stacks` of an earlier
  // call on the same thread are remembered.
  uint32_t Take();
  // The same, but 0 if no frame of the thread is Python's; counts no loss then.
  uint32_t TakePythonOnly();

  // After a fork, in the child, before its first Take: frees locks that threads of the parent held.
  void ResetInChild();

 private:
  int TakePython(ThreadStacks& thread);
  int TakeNative(ThreadStacks& thread);
  uint32_t Intern(ThreadStacks& thread, int python_count, int native_count);

  StackSink& sink_;
  unsigned long long seen_modules_ = 0;  // loaded by the last Refresh
  CodeTable codes_;
  PythonRuntime runtimes_[2];  // the second replaces the first once Python was found
  std::atomic<const PythonRuntime*> runtime_{&runtimes_[0]};
};

}  // namespace stallhound::record
