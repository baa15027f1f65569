#pragma once

// NVTX ranges of the bench, in the default domain: what a recorder later cuts its counts and timelines by.

#include <string>

namespace stallhound::bench {

// Text of the range around one iteration; the range around a case has the benchmark's id.
inline constexpr char kIterationRange[] = "iteration";

// Open from construction to destruction, on one thread. Without a tool it costs a few ns.
class Range {
 public:
  explicit Range(const char* text);
  explicit Range(const std::string& text) : Range(text.c_str()) {}
  ~Range();
  Range(const Range&) = delete;
  Range& operator=(const Range&) = delete;
};

// Whether an NVTX tool (NVTX_INJECTION64_PATH, or one linked in) takes the ranges.
bool IsToolAttached();

// Turns every ATen operator from now on, of the forward and the backward pass and of any thread, into a range named as
// LibTorch names it ("aten::add"). Does nothing without a tool, since an observer slows every operator down.
void MarkOperators();

}  // namespace stallhound::bench
