#pragma once

#include "cli/command.h"

namespace stallhound::cli {

// `stallhound runs`: the last runs of the history.
void AddRunsCommand(CommandRegistry& registry);

}  // namespace stallhound::cli
