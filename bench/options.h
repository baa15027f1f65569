#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <optional>
#include <string>

#include "kernels/pair.h"

namespace stallhound::bench {

// The bench's own flags; Google Benchmark's are its own affair.
struct Options {
  std::optional<kernels::Device> device;     // --stallhound_device=cpu|cuda; else cuda where there is one
  std::optional<std::string> samples_path;   // --stallhound_samples=PATH; else --benchmark_out's + ".samples.jsonl"
  std::optional<int64_t> record_iterations;  // --stallhound_record_iterations=N, at least 1
  std::optional<int64_t> min_time_ns;        // --stallhound_min_time=50ms; else the stopping rule's own
  bool check = true;                         // --stallhound_check=false: results were checked by another process
};

// Takes the bench's own flags out of argv (*argc shrinks). InvalidArgument for a flag --stallhound_* that does not
// exist or a value that makes no sense.
absl::StatusOr<Options> TakeOptions(int* argc, char** argv);

}  // namespace stallhound::bench
