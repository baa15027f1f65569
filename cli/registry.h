#pragma once

#include "cli/command.h"

namespace stallhound::cli {

// Adds every command of cli/commands/, in the order in which help lists them.
void AddAllCommands(CommandRegistry& registry);

}  // namespace stallhound::cli
