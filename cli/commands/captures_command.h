#pragma once

#include "cli/command.h"

namespace stallhound::cli {

// `captures`: what the home holds.
void AddCapturesCommand(CommandRegistry& registry);

}  // namespace stallhound::cli
