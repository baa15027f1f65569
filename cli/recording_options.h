#pragma once

// The options of a recording, shared by every command that starts or prepares one, and what they are in the language of
// the recorder (record/control/environment.h).

#include <absl/status/statusor.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "capture/spool/format.h"

namespace CLI {
class App;
}

namespace stallhound::cli {

// What the recorder needs for the beginning of a spool: the header and a chunk each for names and events.
inline constexpr uint64_t kSmallestSpoolBytes = capture::spool::kHeaderBytes + 2 * capture::spool::kUnitBytes;

// Texts as given; empty: not given.
struct RecordingOptions {
  std::string mode = "default";
  std::string max_spool;
  std::string last;
  std::string delay;
  std::string duration;
  std::string window_range;
  std::string window_steps;
  bool window_api = false;
  bool yield_to_profiler = false;
  bool record_argv = false;
  bool operators = false;  // AddOperatorsHook
};

// Adds them to a command as one group. `options` must live as long as the command.
void AddRecordingOptions(CLI::App& command, RecordingOptions& options);

// The options among them that the command line gave, such as "--mode".
std::vector<std::string> GivenRecordingOptions(const CLI::App& command);

using Variables = std::vector<std::pair<std::string, std::string>>;

// The variables that make a program record itself into `spool_folder`. Errors: usage, for values that do not parse.
absl::StatusOr<Variables> RecordingVariables(const RecordingOptions& options, const std::string& recorder,
                                             const std::string& spool_folder);

// Fits the variables to an environment in which another tool may be injected already: ours replace it, and a warning
// for each says so; with --yield-to-profiler the other tool stays.
std::vector<std::string> ResolveInjectionConflicts(const RecordingOptions& options, Variables& variables);

}  // namespace stallhound::cli
