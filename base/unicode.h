#pragma once

// Characters of UTF-8: what they are and how many columns of a terminal they take. Unicode 14: the Standard's table 3-7
// (valid UTF-8), UAX 11 (East Asian width), DerivedCoreProperties (Default_Ignorable_Code_Point).

#include <cstddef>
#include <string>
#include <string_view>

namespace stallhound {

struct Utf8Char {
  char32_t code = 0;
  size_t length_bytes = 1;
  bool is_valid = true;  // false: one byte that begins no valid sequence; code is U+FFFD
};

// `text` must not be empty.
Utf8Char FirstUtf8Char(std::string_view text);

// `text` with every byte that is not part of valid UTF-8 replaced by U+FFFD.
std::string ReplaceInvalidUtf8(std::string_view text);

// True for what is obeyed or hidden rather than shown: C0 and C1 controls, line and paragraph separators, bidirectional
// marks and overrides, joiners and other invisible characters, variation selectors, tags, noncharacters.
bool ChangesDisplay(char32_t code);

// 0 for a mark on the character before it, 2 for wide characters, else 1. Meaningless where ChangesDisplay.
int ColumnsOf(char32_t code);

}  // namespace stallhound
