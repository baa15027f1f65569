#pragma once

// The whole binary but for main: reads the command line, runs the command, prints its error.

#include <string>
#include <vector>

#include "cli/console.h"

namespace stallhound::cli {

// `arguments` without the program's name. Returns the exit code; after an interrupted command the caller ends by
// InterruptSignal() (interrupt.h). Does not throw.
int RunCommandLine(const std::vector<std::string>& arguments, Console& console);

}  // namespace stallhound::cli
