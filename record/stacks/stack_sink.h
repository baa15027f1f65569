#pragma once

// Where stacks are written: the spool in the recorder, memory in tests. Implementations are thread-safe and neither
// allocate nor throw. An id of 0 says that the record could not be written.

#include <cstdint>

#include "capture/counters.h"
#include "capture/spool/format.h"

namespace stallhound::record {

struct PythonCode {
  uint32_t file;  // string ids
  uint32_t name;
  int32_t first_line;
  uint32_t python_version;  // 0x030b
  const uint8_t* table;
  uint32_t table_bytes;
};

struct Stack {  // innermost first
  const capture::spool::PythonFrame* python;
  const uint64_t* native;
  uint16_t python_count;
  uint16_t native_count;
};

class StackSink {
 public:
  virtual uint32_t AddString(const char* text, uint32_t bytes) = 0;
  virtual uint32_t AddPythonCode(const PythonCode& code) = 0;
  virtual uint32_t AddStack(const Stack& stack) = 0;
  // Of the ids: changes when they start over (a forked child's own spool). 0: nothing is being recorded.
  virtual uint64_t Generation() = 0;
  virtual void CountLoss(capture::LossCounter counter) = 0;

 protected:
  ~StackSink() = default;
};

}  // namespace stallhound::record
