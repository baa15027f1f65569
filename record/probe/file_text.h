#pragma once

#include <optional>
#include <string>

namespace stallhound::record {

// The first 64 KiB of a file; nullopt if it cannot be read.
std::optional<std::string> ReadText(const std::string& path);
bool Exists(const std::string& path);
// Symbolic links followed; nullopt if the file is not there.
std::optional<std::string> RealPath(const std::string& path);

}  // namespace stallhound::record
