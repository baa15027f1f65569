#pragma once

// `--operators`: the start-up hook of python/operators in a program's environment.

#include <optional>
#include <string>
#include <vector>

#include "cli/recording_options.h"

namespace stallhound::cli {

// Adds what makes Python load the hook that lies in `folder`: the folder comes first in PYTHONPATH, which stays as it
// is behind it.
void AddOperatorsHook(const std::string& folder, Variables& variables);

// Why the Python that `argv` starts, itself or through a script's first line, would not load the hook: a sentence, null
// if nothing is known to stand in its way.
std::optional<std::string> HookHindrance(const std::vector<std::string>& argv);

}  // namespace stallhound::cli
