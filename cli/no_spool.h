#pragma once

// A run ended and no spool is there: why. Every reason is looked up on this machine, none is guessed; the last sentence
// is what remains when nothing was found.

#include <string>
#include <vector>

#include "cli/child.h"
#include "cli/recording_options.h"

namespace stallhound::cli {

struct NoSpoolCase {
  std::vector<std::string> argv;
  ChildEnd end;
  std::string recorder;
  std::string spool_folder;
  RecordingOptions recording;
};

// Sentences, the most likely reason first, each with what to do. Never empty. Reads the program's file, and tries in a
// child process whether the recorder loads.
std::vector<std::string> ExplainNoSpool(const NoSpoolCase& run);

}  // namespace stallhound::cli
