#pragma once

// Checks of single values for CLI::Option::check: what is wrong with one in our words, empty if nothing is.

#include <cstdint>
#include <functional>
#include <limits>
#include <string>

namespace stallhound::cli {

using OptionCheck = std::function<std::string(const std::string& value)>;

// A whole number in decimal, from `least` to `most`.
OptionCheck WholeNumber(int64_t least, int64_t most = std::numeric_limits<int64_t>::max());

// A number from 0 to 1; nan is none.
OptionCheck Ratio();

// An extended regular expression.
OptionCheck RegularExpression();

}  // namespace stallhound::cli
