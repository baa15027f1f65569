#pragma once

// JSON as benchmark programs really write it: numbers that are no JSON made readable before a parser sees them.

#include <string>
#include <string_view>
#include <vector>

namespace stallhound::capture {

struct MendedToken {
  int line = 0;       // from 1
  std::string token;  // as it was: "-NaN", "2%", "1,000,000"
};

struct MendedJson {
  std::string text;  // one JSON value
  std::vector<MendedToken> mended;
  std::string_view before;  // text in front of it, such as log lines; part of the argument
  bool is_cut = false;      // the value ends early
};

// Takes the JSON object out of `text`: log lines before it and text behind it are left out. NaN, infinities and other
// bare words become null; "2%" becomes 0.02; digit groups ("1,000,000", as the value of a key) are joined. Strings are
// never touched. `first_keys`: the object begins with one of these; a brace in a log line does not.
MendedJson MendJson(std::string_view text, std::initializer_list<std::string_view> first_keys);

}  // namespace stallhound::capture
