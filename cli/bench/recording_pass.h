#pragma once

// The pass with the recorder: what the bench does in each case, and the capture that shows it.

#include <absl/status/statusor.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "analysis/cases/cases.h"
#include "cli/bench/bench_program.h"
#include "cli/console.h"
#include "store/run.h"

namespace stallhound::cli {

struct RecordingRequest {
  BenchProgram program;
  std::string name;  // of the pass, for messages
  std::string home;
  int64_t iteration_count = 0;       // of each case
  std::span<const std::string> ids;  // the cases to be counted
};

struct RecordedPass {
  analysis::CasesReport report;
  store::Capture capture;
};

// Runs the bench under the recorder, counts, and keeps the recording as a capture in the home. The spools are removed
// when the capture is written, or after Ctrl-C. Errors: those of RunBench; the environment's if nothing was recorded;
// those of the readers.
absl::StatusOr<RecordedPass> RunRecordingPass(const RecordingRequest& request, Console& console);

}  // namespace stallhound::cli
