#pragma once

#include "cli/command.h"

namespace stallhound::cli {

// `stallhound nightly`: measures the suite, judges it against the baseline, reports.
void AddNightlyCommand(CommandRegistry& registry);

}  // namespace stallhound::cli
