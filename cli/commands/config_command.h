#pragma once

#include "cli/command.h"

namespace stallhound::cli {

// `stallhound config`: what stallhound.toml says here, and what its keys mean.
void AddConfigCommand(CommandRegistry& registry);

}  // namespace stallhound::cli
