#pragma once

#include "cli/command.h"

namespace stallhound::cli {

// `hunt`: records a program and reports what makes its host wait for the GPU.
void AddHuntCommand(CommandRegistry& registry);

}  // namespace stallhound::cli
