#include "cli/save_capture.h"

#include <cstdint>

#include "base/clock.h"
#include "base/status_macros.h"
#include "capture/file/capture_file.h"
#include "cli/home.h"
#include "cli/interrupt.h"
#include "cli/progress.h"

namespace stallhound::cli {

absl::StatusOr<std::string> SaveCapture(const std::string& home, OpenedRecording& recording, Console& console) {
  const capture::CaptureInfo& info = recording.reader->info();
  const int64_t started_ns = info.epoch_ns.value_or(SystemClock().RealtimeNs());
  SH_ASSIGN_OR_RETURN(std::string path, NewCapturePath(home, info.uuid, started_ns));
  Progress progress(console, "writing the capture");
  const auto on_rows = [&progress](uint64_t row_count) {
    progress.Update(row_count);
    return InterruptSignal() == 0;
  };
  SH_RETURN_IF_ERROR(capture::WriteCaptureFile(*recording.reader, path, on_rows));
  return path;
}

}  // namespace stallhound::cli
