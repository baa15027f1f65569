#pragma once

#include "cli/command.h"

namespace stallhound::cli {

// `query`: SQL over captures.
void AddQueryCommand(CommandRegistry& registry);

}  // namespace stallhound::cli
