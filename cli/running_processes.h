#pragma once

// Processes that outlive the program that was recorded: daemons, and children left behind.

#include <sys/types.h>

#include <string>
#include <vector>

namespace stallhound::cli {

// Processes started with this variable at this value, by id, of those whose environment we may read. Reads /proc.
std::vector<pid_t> ProcessesWith(const std::string& variable, const std::string& value);

// The same after a second of patience: helpers of a program often end just after it.
std::vector<pid_t> ProcessesLeftWith(const std::string& variable, const std::string& value);

}  // namespace stallhound::cli
