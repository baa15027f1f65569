#pragma once

#include "cli/command.h"

namespace stallhound::cli {

void AddBenchCommand(CommandRegistry& registry);

}  // namespace stallhound::cli
