#pragma once

// Writes Kineto traces of any length for benchmarks and tests: training steps of one process, as torch.profiler writes
// them (decimal microseconds relative to baseTimeNanoseconds, one event a block of lines).

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace stallhound::capture {

struct GeneratedTrace {
  int step_count = 1;
  int kernels_per_step = 200;  // each with its operators, launch and flow events
  int waits_per_step = 2;      // DtoH copy and cudaStreamSynchronize under aten::item
  bool python_functions = true;
  bool compact = false;  // one line, as json.dump writes it
};

struct GeneratedCounts {
  int64_t events = 0;
  int64_t kernels = 0;
  int64_t waits = 0;
  int64_t runtime_calls = 0;
  int64_t cpu_ops = 0;
  int64_t bytes = 0;
};

// Hands the text to `write` in pieces of about 1 MB.
GeneratedCounts GenerateTrace(const GeneratedTrace& trace, const std::function<void(std::string_view)>& write);

}  // namespace stallhound::capture
