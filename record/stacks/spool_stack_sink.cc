#include "record/stacks/spool_stack_sink.h"

#include "record/stacks/stacks.h"

namespace stallhound::record {

using capture::spool::PythonCodeRecord;
using capture::spool::PythonFrame;
using capture::spool::StackRecord;

uint32_t SpoolStackSink::AddPythonCode(const PythonCode& code) {
  PythonCodeRecord record = {.file = code.file,
                             .name = code.name,
                             .first_line = code.first_line,
                             .python_version = code.python_version,
                             .table_bytes = code.table_bytes};
  return writer_.Intern(record, code.table, code.table_bytes);
}

uint32_t SpoolStackSink::AddStack(const Stack& stack) {
  StackRecord record = {.python_count = stack.python_count, .native_count = stack.native_count};
  char tail[kMaxPythonFrames * sizeof(PythonFrame) + kMaxNativeFrames * sizeof(uint64_t)];
  const size_t python_bytes = stack.python_count * sizeof(PythonFrame);
  const size_t native_bytes = stack.native_count * sizeof(uint64_t);
  memcpy(tail, stack.python, python_bytes);
  memcpy(tail + python_bytes, stack.native, native_bytes);
  return writer_.Intern(record, tail, python_bytes + native_bytes);
}

}  // namespace stallhound::record
