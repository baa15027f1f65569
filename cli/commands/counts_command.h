#pragma once

#include "cli/command.h"

namespace stallhound::cli {

// `counts`: exact event counts of a recording.
void AddCountsCommand(CommandRegistry& registry);

}  // namespace stallhound::cli
