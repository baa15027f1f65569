#pragma once

#include "cli/command.h"

namespace stallhound::cli {

// `stallhound completion`: scripts that complete its command lines in a shell. Keeps a reference to the registry.
void AddCompletionCommand(CommandRegistry& registry);

}  // namespace stallhound::cli
