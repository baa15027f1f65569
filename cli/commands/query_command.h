#pragma once

#include "cli/command.h"

namespace stallhound::cli {

// `query`: SQL over captures and the history.
void AddQueryCommand(CommandRegistry& registry);

}  // namespace stallhound::cli
