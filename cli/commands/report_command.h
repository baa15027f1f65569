#pragma once

#include "cli/command.h"

namespace stallhound::cli {

// `stallhound report`: one run of the history whole.
void AddReportCommand(CommandRegistry& registry);

}  // namespace stallhound::cli
