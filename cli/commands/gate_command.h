#pragma once

#include "cli/command.h"

namespace stallhound::cli {

// `stallhound gate`: a run against its baseline.
void AddGateCommand(CommandRegistry& registry);

}  // namespace stallhound::cli
