#pragma once

// The stacks of calls that can stall the host, from what encloses them on their thread: the Python functions of
// with_stack traces, else the call stack that operators of older traces carry; then the operators, as native frames.

#include <absl/container/flat_hash_map.h>
#include <absl/status/status.h>

#include <cstdint>
#include <vector>

#include "capture/import/kineto/trace_rows.h"
#include "capture/reader.h"

namespace stallhound::capture {

struct StackTables {
  std::vector<FrameRow> frames;
  std::vector<StackFrameRow> stack_frames;  // by stack, then depth
  int64_t python_stack_count = 0;           // calls with a Python frame
};

// Fills stack_id of rows->stack_calls, which it sorts by time. Cost: one pass over the ranges. Memory: open ranges and
// distinct stacks. Errors: those of the sorter.
absl::Status JoinStacks(TraceRows* rows, StackTables* tables);

}  // namespace stallhound::capture
