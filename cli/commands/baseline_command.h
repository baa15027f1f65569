#pragma once

#include "cli/command.h"

namespace stallhound::cli {

// `stallhound baseline`: what runs are compared with.
void AddBaselineCommand(CommandRegistry& registry);

}  // namespace stallhound::cli
