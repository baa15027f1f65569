#pragma once

// The calling thread's Python frames, read from memory without the GIL: inside a call out of Python the thread's own
// frames cannot change. Cost: a few loads per frame.

#include <cstdint>

#include "record/stacks/python_layout.h"
#include "record/stacks/python_memory.h"

namespace stallhound::record {

struct RawFrame {
  Address code;                // the code object
  int32_t instruction_offset;  // bytes from the first instruction; -1: not started
};

struct WalkResult {
  int frame_count;
  bool is_truncated;  // there were more frames than fit
};

// Writes at most `capacity` frames, innermost first. `code_type` is the address of PyCode_Type: what is not of that
// type ends the walk.
WalkResult WalkPythonFrames(const PythonLayout& layout, Address thread_state, Address code_type, RawFrame* frames,
                            int capacity);

}  // namespace stallhound::record
