#pragma once

#include "cli/command.h"

namespace stallhound::cli {

// `prune`: removes captures and left-over spools.
void AddPruneCommand(CommandRegistry& registry);

}  // namespace stallhound::cli
