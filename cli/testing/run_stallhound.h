#pragma once

#include <string>
#include <vector>

#include "base/testing/golden.h"
#include "base/testing/subprocess.h"

namespace stallhound::cli {

// Options to run the built binary with a home of its own; the test's `data` must have //cli:stallhound.
inline stallhound::testing::SubprocessOptions StallhoundOptions(const std::string& home,
                                                                const std::vector<std::string>& arguments) {
  stallhound::testing::SubprocessOptions options;
  options.argv = {stallhound::testing::DataPath("cli/stallhound")};
  options.argv.insert(options.argv.end(), arguments.begin(), arguments.end());
  options.environment = {{"STALLHOUND_HOME", home},
                         {"CUDA_INJECTION64_PATH", std::nullopt},
                         {"NVTX_INJECTION64_PATH", std::nullopt},
                         {"STALLHOUND_RECORDER", std::nullopt}};
  return options;
}

}  // namespace stallhound::cli
