#pragma once

#include "cli/command.h"

namespace stallhound::cli {

// `stallhound completion`: scripts that complete its command lines in a shell. Add it last: it reads the registry.
void AddCompletionCommand(CommandRegistry& registry);

}  // namespace stallhound::cli
