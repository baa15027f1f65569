#pragma once

#include "cli/command.h"

namespace stallhound::cli {

// `env`: the variables of a recording, for a program that something else starts.
void AddEnvCommand(CommandRegistry& registry);

}  // namespace stallhound::cli
