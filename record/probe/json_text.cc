#include "record/probe/json_text.h"

#include <cstdio>

namespace stallhound::record {
namespace {

// Length of the UTF-8 character at the start of `text`; 0 if it is none.
size_t CharacterBytes(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const size_t length = byte(0) < 0x80       ? 1
                        : byte(0) >> 5 == 6  ? 2
                        : byte(0) >> 4 == 14 ? 3
                        : byte(0) >> 3 == 30 ? 4
                                             : 0;
  if (length == 0 || length > text.size()) return 0;
  for (size_t i = 1; i < length; ++i) {
    if (byte(i) >> 6 != 2) return 0;
  }
  return length;
}

}  // namespace

void JsonText::Separate() {
  if (needs_comma_) out_ += ',';
  needs_comma_ = false;
}

void JsonText::Open(char bracket) {
  Separate();
  out_ += bracket;
}

void JsonText::Close(char bracket) {
  out_ += bracket;
  needs_comma_ = true;
}

void JsonText::Key(std::string_view key) {
  Text(key);
  out_ += ':';
  needs_comma_ = false;
}

void JsonText::Text(std::string_view value) {
  Separate();
  out_ += '"';
  while (!value.empty()) {
    const size_t bytes = CharacterBytes(value);
    const auto first = static_cast<unsigned char>(value[0]);
    if (bytes == 0) {
      out_ += "\xef\xbf\xbd";
    } else if (first == '"' || first == '\\') {
      out_ += {'\\', value[0]};
    } else if (first < 0x20) {
      char escaped[8];
      snprintf(escaped, sizeof(escaped), "\\u%04x", first);
      out_ += escaped;
    } else {
      out_ += value.substr(0, bytes);
    }
    value.remove_prefix(bytes == 0 ? 1 : bytes);
  }
  out_ += '"';
  needs_comma_ = true;
}

void JsonText::Text(const std::optional<std::string>& value) { value ? Text(std::string_view(*value)) : Null(); }

void JsonText::Number(int64_t value) {
  Separate();
  out_ += std::to_string(value);
  needs_comma_ = true;
}

void JsonText::Bool(bool value) {
  Separate();
  out_ += value ? "true" : "false";
  needs_comma_ = true;
}

void JsonText::Null() {
  Separate();
  out_ += "null";
  needs_comma_ = true;
}

void JsonText::Raw(std::string_view json) {
  Separate();
  out_ += json;
  needs_comma_ = true;
}

}  // namespace stallhound::record
