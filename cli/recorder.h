#pragma once

// Getting a program recorded: the recorder, a folder for its spools, and the variables that bring them together.

#include <absl/status/statusor.h>

#include <string>

#include "cli/console.h"
#include "cli/recording_options.h"

namespace stallhound::cli {

struct Recorder {
  std::string path;
  std::string spool_folder;
  Variables variables;  // for the program to be recorded
};

// Makes a new spool folder in `home`; warns of other tools that the variables replace. Errors: usage, for options that
// do not parse; the environment's.
absl::StatusOr<Recorder> PrepareRecorder(const std::string& home, const RecordingOptions& options, Console& console);

// Removes a spool folder, unless a process still writes into it.
void RemoveSpools(const std::string& folder);

}  // namespace stallhound::cli
