#pragma once

// Text from a recording, made harmless for people's eyes and terminals.

#include <cstddef>
#include <string>
#include <string_view>

namespace stallhound::reports {

// Valid UTF-8 without control characters, line breaks, and characters that are invisible or change the direction of
// writing: those appear as \x1b or \u202e.
std::string CleanText(std::string_view text);

// Columns that clean text takes in a terminal.
size_t DisplayWidth(std::string_view clean);

// The longest part of clean text of at most `width` columns: its beginning, or its end.
std::string_view HeadOfWidth(std::string_view clean, size_t width);
std::string_view TailOfWidth(std::string_view clean, size_t width);

}  // namespace stallhound::reports
