#pragma once

// Text of unknown origin (names of kernels, files, ranges, threads; values of variables) made fit to be shown to a
// person, in a terminal or on a page. What a format itself reads (HTML's <, Markdown's |) is for that format to escape.

#include <cstddef>
#include <string>
#include <string_view>

namespace stallhound {

// `text` as one line of valid UTF-8 without anything that changes the display around it: tabs and line ends become
// blanks; what ChangesDisplay (base/unicode.h) and invalid bytes become U+FFFD; more than four marks on one character
// are left out. Applying it again changes nothing.
std::string Displayable(std::string_view text);

// Columns of a terminal that displayable text takes: wide characters two, marks none.
size_t DisplayWidth(std::string_view text);

// Displayable text of at most `width` columns. What is longer loses its middle ("..."): of a name its beginning stays,
// of a path the file and line too. Never cuts a character or takes its marks.
std::string ShortenedMiddle(std::string_view text, size_t width);

// What a program said at length (why a case failed), where there is room for a few lines: Displayable, shortened to 300
// columns. Files for programs keep it whole.
std::string DisplayableMessage(std::string_view text);

}  // namespace stallhound
