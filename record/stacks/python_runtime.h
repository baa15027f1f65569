#pragma once

// The Python interpreter of this process, found at run time: symbols of the executable (a static python exports them)
// or of the libpython that is mapped. Links no Python.

#include <cstdint>

#include "record/stacks/python_layout.h"
#include "record/stacks/python_memory.h"

namespace stallhound::record {

class PythonRuntime {
 public:
  enum class Kind : uint8_t {
    kNone,     // no Python in the process
    kUnknown,  // a Python whose frames are not known
    kKnown,
  };

  // Looks for Python. Uses dlsym and dlopen(RTLD_NOLOAD), so call it where the loader's lock may be taken, never in a
  // callback of the profiled program.
  static PythonRuntime Detect();
  // A runtime of memory images, for tests. `thread_state` answers for every thread.
  static PythonRuntime ForImage(const PythonLayout& layout, Address code_type, Address (*thread_state)());

  Kind kind() const { return kind_; }
  uint32_t version_hex() const { return version_hex_; }
  const PythonLayout& layout() const { return layout_; }
  Address code_type() const { return code_type_; }

  // The calling thread's state, 0 if it has none. Reads thread-local storage: no lock, no GIL.
  Address ThreadState() const;
  // While the interpreter shuts down other threads' frames may go away under them.
  bool IsFinalizing() const { return is_finalizing_ != nullptr && is_finalizing_() != 0; }

 private:
  Kind kind_ = Kind::kNone;
  uint32_t version_hex_ = 0;
  PythonLayout layout_{};
  Address code_type_ = 0;
  void* (*get_thread_state_)() = nullptr;  // PyGILState_GetThisThreadState
  int (*is_finalizing_)() = nullptr;
  int (*is_initialized_)() = nullptr;
  Address (*image_thread_state_)() = nullptr;
};

// "3.11.7 (main, ...)" -> 0x030b0700; 0 if it does not start so.
uint32_t ParsePythonVersion(const char* text);

}  // namespace stallhound::record
