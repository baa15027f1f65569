#pragma once

#include "cli/command.h"

namespace stallhound::cli {

// `stallhound import FILE...`: other tools' traces become captures, or are counted (`--counts`).
void AddImportCommand(CommandRegistry& registry);

}  // namespace stallhound::cli
