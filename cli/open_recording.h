#pragma once

// One way to open whatever a command is given: spools, a capture, or a file of another tool.

#include <absl/status/statusor.h>

#include <memory>
#include <string>
#include <vector>

#include "capture/reader.h"

namespace stallhound::cli {

struct OpenedRecording {
  std::unique_ptr<capture::CaptureReader> reader;
  std::vector<std::string> spools;  // the spool files it is made of; empty for captures and foreign files
  std::vector<std::string> files;   // all that the reader reads
};

// `paths`: spool files and folders of them (together one recording), or one capture (a path or the beginning of a uuid
// in the home), or one file of another tool that capture/import reads; none: the newest capture of the home. Errors:
// NotFound, InvalidArgument (nothing that is known, kinds mixed, an archive of several recordings), and those of the
// reader.
absl::StatusOr<OpenedRecording> OpenRecording(const std::string& home, const std::vector<std::string>& paths);

// Puts another profiler's trace of the recorded process beside spools that left CUPTI alone (capture/join). Errors:
// InvalidArgument (no spools, or what does not belong together), and those of the reader.
absl::Status AddTrace(const std::string& path, OpenedRecording& opened);

// For commands that take no spools. Errors: InvalidArgument, if `path` is a spool or a folder of them, with the command
// that makes its capture; `attempt`: what is done with it.
absl::Status CheckNoSpool(const std::string& path, const std::string& attempt);

// Before anything is written to `output`, as --output names it. Errors: usage, if that is a file of the recording.
absl::Status CheckNotRead(const std::string& output, const OpenedRecording& opened);

}  // namespace stallhound::cli
