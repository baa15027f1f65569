#pragma once

// The bench binary as a child process, once per pass.

#include <absl/status/statusor.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/file.h"
#include "cli/bench/bench_output.h"
#include "cli/recording_options.h"

namespace stallhound::cli {

struct BenchProgram {
  std::string binary;  // a path
  std::string filter;  // regular expression of benchmark ids
  std::optional<int64_t> min_time_ns;
  std::optional<int64_t> timeout_ns;
  // Of an earlier pass that this one shall go with; unset: there was none.
  std::optional<FileIdentity> identity;
  std::map<std::string, std::string> context;
};

struct BenchPass {
  std::string name;                          // "round 3 of 8", for messages
  std::optional<int64_t> record_iterations;  // set: a recording pass
  bool check = false;                        // results against fp64, before they are timed
  Variables variables;                       // of the process: the recorder's, or what keeps it away
};

// An expression of ids as one of the names that Google Benchmark searches, which go on behind the id: "forward$" finds
// "a/forward/iterations:1/manual_time".
std::string FilterOfNames(std::string_view filter_of_ids);

// Whether there is such a program; else NotFound, or FailedPrecondition for a folder and the like, with `hint` to who
// named it.
absl::Status CheckBinary(const std::string& binary, std::string_view hint);

// Runs the pass in a fresh process and reads what it left; that a case failed is a row, not an error. Its output is
// kept back, its last lines are in the error. Errors: NotFound, PermissionDenied (no program); Cancelled (a signal
// asked to stop; InterruptSignal() has it); DeadlineExceeded; usage (the bench refused its flags, or no case matches);
// the environment's (it says that the machine lacks something); DataLoss (it crashed, left no whole result, or ended
// with a code that no failed case explains); FailedPrecondition (the program, or what it says of its device and
// libraries, is not what it was in the earlier pass). All name the program.
absl::StatusOr<BenchOutput> RunBench(const BenchProgram& program, const BenchPass& pass);

}  // namespace stallhound::cli
