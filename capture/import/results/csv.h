#pragma once

// Comma-separated values as RFC 4180 says: quoted fields may hold commas, quotes (doubled) and line ends.

#include <string>
#include <string_view>
#include <vector>

namespace stallhound::capture {

// Reads records one by one. Not thread-safe; `text` must outlive it.
class CsvReader {
 public:
  explicit CsvReader(std::string_view text) : text_(text) {}

  // The next record; false at the end. A quoted field that never ends takes the rest of the text, and is_cut() is true.
  bool Next(std::vector<std::string>& fields);
  bool is_cut() const { return is_cut_; }
  // Of the record that Next gave, from 1.
  int line() const { return record_line_; }

 private:
  std::string QuotedField();

  std::string_view text_;
  size_t at_ = 0;
  int line_ = 1;
  int record_line_ = 0;
  bool is_cut_ = false;
};

}  // namespace stallhound::capture
