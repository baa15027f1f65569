#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stallhound::cli {

// The candidate that `word` was most likely meant to be: fewest edits (insert, delete, replace, swap neighbours), at
// most a third of its length; a candidate that begins with `word` counts as close. nullopt if none is near.
std::optional<std::string> ClosestWord(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace stallhound::cli
