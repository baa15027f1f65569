#pragma once

#include "cli/command.h"

namespace stallhound::cli {

// `stallhound explain`: why a sync point waits and what to write instead.
void AddExplainCommand(CommandRegistry& registry);

}  // namespace stallhound::cli
