#include "capture/import/results/csv.h"

#include <algorithm>

namespace stallhound::capture {

std::string CsvReader::QuotedField() {
  std::string field;
  ++at_;
  while (at_ < text_.size()) {
    const char c = text_[at_++];
    if (c == '\n') ++line_;
    if (c != '"') {
      field += c;
    } else if (at_ < text_.size() && text_[at_] == '"') {
      field += '"';
      ++at_;
    } else {
      return field;
    }
  }
  is_cut_ = true;
  return field;
}

bool CsvReader::Next(std::vector<std::string>& fields) {
  fields.clear();
  if (at_ >= text_.size()) return false;
  record_line_ = line_;
  while (true) {
    std::string field;
    if (at_ < text_.size() && text_[at_] == '"') field = QuotedField();
    const size_t end = std::min(text_.find_first_of(",\r\n", at_), text_.size());
    field += text_.substr(at_, end - at_);
    at_ = end;
    fields.push_back(std::move(field));
    if (at_ >= text_.size()) return true;
    const char separator = text_[at_++];
    if (separator == ',') continue;
    if (separator == '\r' && at_ < text_.size() && text_[at_] == '\n') ++at_;
    ++line_;
    return true;
  }
}

}  // namespace stallhound::capture
