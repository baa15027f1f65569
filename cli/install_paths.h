#pragma once

// Where the files lie that come with the binary: in a package (bin/ beside lib/), in one folder, or among Bazel's
// outputs.

#include <absl/status/statusor.h>

#include <string>

namespace stallhound::cli {

// libstallhound_record.so, as an absolute path. $STALLHOUND_RECORDER, if set, is used and nothing else. Errors: of
// the environment, with the places looked at.
absl::StatusOr<std::string> FindRecorder();

// The folder of the start-up hook for Python (python/operators), as an absolute path. Errors: as above.
absl::StatusOr<std::string> FindOperatorsHook();

// The executable stallhound_probe. Errors: as above.
absl::StatusOr<std::string> FindProbe();

}  // namespace stallhound::cli
