#pragma once

#include "cli/command.h"

namespace stallhound::cli {

// `export`: a recording for another viewer.
void AddExportCommand(CommandRegistry& registry);

}  // namespace stallhound::cli
