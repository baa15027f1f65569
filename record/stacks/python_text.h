#pragma once

// Copies what names a code object out of the interpreter: strings as UTF-8, bytes objects as views.

#include <cstddef>
#include <cstdint>

#include "record/stacks/python_layout.h"
#include "record/stacks/python_memory.h"

namespace stallhound::record {

// Writes the str at `text` as UTF-8 (lone surrogates as U+FFFD), whole characters only, at most `capacity` bytes; what
// does not fit is cut. Returns the bytes written; 0 too for what is no compact string. Not terminated.
size_t CopyPythonText(const PythonLayout& layout, Address text, char* out, size_t capacity);

struct PythonBytes {
  const uint8_t* data;
  uint32_t size_bytes;
};

// The content of the bytes object at `object`; empty for an implausible one. Valid while the object lives.
PythonBytes ReadPythonBytes(const PythonLayout& layout, Address object);

}  // namespace stallhound::record
