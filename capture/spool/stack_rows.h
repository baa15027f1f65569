#pragma once

// The stacks of one process as rows: Python lines from line tables, native names from the mapped files.

#include <absl/container/flat_hash_map.h>

#include <string>
#include <vector>

#include "capture/reader.h"
#include "capture/spool/process_spool.h"
#include "capture/symbolize/native_symbols.h"
#include "capture/symbolize/source_paths.h"

namespace stallhound::capture::spool {

// Numbers frames and stacks over all processes of a capture.
class StackRows {
 public:
  explicit StackRows(StringTable& strings) : strings_(strings) {}

  // Adds all stacks of a process, paths relative to its `roots`; the capture's stack id by the spool's.
  absl::flat_hash_map<uint32_t, uint32_t> Add(const Dictionary& dictionary, PathRoots roots);

  const FrameBatch& frames() const { return frames_; }
  const StackFrameBatch& stack_frames() const { return stack_frames_; }

 private:
  uint32_t AddFrame(const FrameRow& frame);
  FrameRow PythonRow(const Dictionary& dictionary, const PythonFrame& frame);
  FrameRow NativeRow(const NativeLocation& location);
  void AddDepth(uint32_t stack_id, uint32_t depth, uint32_t frame_id);

  StringTable& strings_;
  PathRoots roots_;  // of the process being added
  FrameBatch frames_;
  StackFrameBatch stack_frames_;
  absl::flat_hash_map<std::string, uint32_t> frame_ids_;
  uint32_t next_stack_id_ = 0;
};

}  // namespace stallhound::capture::spool
