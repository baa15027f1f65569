#pragma once

#include "cli/command.h"

namespace stallhound::cli {

// `doctor`: what stands between a program on this machine and a recording.
void AddDoctorCommand(CommandRegistry& registry);

}  // namespace stallhound::cli
