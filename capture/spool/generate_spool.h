#pragma once

// Makes spools as the recorder writes them, for tests and benchmarks: one thread that launches kernels and now and then
// waits for a read-back.

#include <cstdint>
#include <string>

#include "capture/spool/format.h"

namespace stallhound::capture::spool {

struct GeneratedSpool {
  int64_t kernel_count = 1000;
  int64_t kernels_per_wait = 100;   // then a pinned 4-byte read-back and a cudaStreamSynchronize, with a stack
  int64_t kernels_per_step = 1000;  // an NVTX range around so many
  std::string step_range = "step";  // its name
  std::string outer_range;          // of a range around all steps; empty: none
  int stack_count = 50;             // different call sites of the waits
  bool is_closed = true;            // false: as after SIGKILL
  Mode mode = Mode::kDefault;       // light: no launches and kernels; copies have the times of their calls
};

// Writes a spool into `directory` and returns its path; "" if it could not be written. Launch every 5 us, kernels of
// 4 us on stream 7, a wait returns 5 us after the work before it.
std::string GenerateSpool(const std::string& directory, const GeneratedSpool& options);

}  // namespace stallhound::capture::spool
