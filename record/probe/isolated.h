#pragma once

// Runs code that may crash or hang (driver libraries, foreign constructors) in a child process.

#include <string>

namespace stallhound::record {

enum class IsolatedEnd { kFine, kCrashed, kTimedOut, kNotStarted };

struct IsolatedResult {
  IsolatedEnd end;
  std::string text;  // what the step returned; "" unless kFine
};

// `step(context)` runs in a fork of this single-threaded process; its stdout and stderr go nowhere.
IsolatedResult RunIsolated(std::string (*step)(const void* context), const void* context, int timeout_s);

}  // namespace stallhound::record
