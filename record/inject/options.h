#pragma once

// What the environment asks of the recorder (record/control/environment.h), read once.

#include <limits.h>

#include <cstdint>

#include "capture/spool/format.h"
#include "capture/spool/writer.h"
#include "record/windows/windows.h"

namespace stallhound::record {

struct RecorderOptions {
  bool is_disabled = false;
  char spool_directory[PATH_MAX] = {};
  capture::spool::Mode mode = capture::spool::Mode::kDefault;
  uint64_t max_spool_bytes = capture::spool::kDefaultMaxBytes;
  int64_t last_ns = 0;
  bool has_operators = false;
  bool yields_to_profiler = false;
  bool records_argv = false;
  const char* cupti_path = nullptr;  // null: not chosen
  WindowOptions window;              // its strings are the environment's
  int bad_value_count = 0;           // values that could not be parsed and are ignored
};

// `get` is getenv or a stand-in of it; what it returns must stay valid.
RecorderOptions ReadOptions(const char* (*get)(const char* name)) noexcept;

}  // namespace stallhound::record
