#pragma once

#include "cli/command.h"

namespace stallhound::cli {

void AddAbCommand(CommandRegistry& registry);

}  // namespace stallhound::cli
