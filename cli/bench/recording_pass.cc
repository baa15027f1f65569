#include "cli/bench/recording_pass.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/status_macros.h"
#include "capture/file/capture_file.h"
#include "cli/exit_code.h"
#include "cli/home.h"
#include "cli/interrupt.h"
#include "cli/no_spool.h"
#include "cli/open_recording.h"
#include "cli/progress.h"
#include "cli/recorder.h"
#include "cli/save_capture.h"

namespace stallhound::cli {
namespace {

absl::Status NothingRecorded(const RecordingRequest& request, const Recorder& recorder) {
  std::string why;
  for (const std::string& reason :
       ExplainNoSpool({{request.program.binary}, {0, std::nullopt}, recorder.path, recorder.spool_folder, {}})) {
    why += (why.empty() ? "" : "; ") + reason;
  }
  return EnvironmentError(fmt::format("recording '{}': it left no spool: {}", request.program.binary, why));
}

void WarnOfFailures(const BenchOutput& output, const RecordingRequest& request, Console& console) {
  for (const BenchRow& row : output.rows) {
    const bool is_asked_for = std::find(request.ids.begin(), request.ids.end(), row.id) != request.ids.end();
    if (row.error && is_asked_for) {
      console.Warn(fmt::format("{} failed while it was recorded; its counts are unknown: {}", row.id, *row.error));
    }
  }
}

absl::StatusOr<RecordedPass> ReadAndKeep(const RecordingRequest& request, const Recorder& recorder, Console& console) {
  SH_ASSIGN_OR_RETURN(OpenedRecording recording, OpenRecording(request.home, {recorder.spool_folder}));
  RecordedPass pass;
  {
    Progress progress(console, "counting");
    WatchedReader reader(*recording.reader, progress);
    SH_ASSIGN_OR_RETURN(pass.report, analysis::CountCases(reader, request.ids));
  }
  SH_ASSIGN_OR_RETURN(const std::string path, SaveCapture(request.home, recording, console));
  pass.capture.uuid = recording.reader->info().uuid;
  pass.capture.path = std::filesystem::path(path).filename();
  SH_ASSIGN_OR_RETURN(pass.capture.checksum, capture::CaptureChecksum(path));
  return pass;
}

}  // namespace

absl::StatusOr<RecordedPass> RunRecordingPass(const RecordingRequest& request, Console& console) {
  SH_ASSIGN_OR_RETURN(const Recorder recorder, PrepareRecorder(request.home, {}, console));
  BenchPass pass;
  pass.name = request.name;
  pass.record_iterations = request.iteration_count;
  pass.variables = recorder.variables;
  const absl::StatusOr<BenchOutput> output = RunBench(request.program, pass);
  if (output.ok()) WarnOfFailures(*output, request, console);
  if (!output.ok() || SpoolFiles(recorder.spool_folder).empty()) {
    const absl::Status why = output.ok() ? NothingRecorded(request, recorder) : output.status();
    RemoveSpools(recorder.spool_folder);
    return why;
  }
  absl::StatusOr<RecordedPass> recorded = ReadAndKeep(request, recorder, console);
  if (recorded.ok() || InterruptSignal() != 0) {
    RemoveSpools(recorder.spool_folder);
    return recorded;
  }
  return absl::Status(recorded.status().code(),
                      fmt::format("{}; the spools are kept: stallhound hunt --from {}",
                                  std::string(recorded.status().message()), recorder.spool_folder));
}

}  // namespace stallhound::cli
