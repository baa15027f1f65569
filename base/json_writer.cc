#include "base/json_writer.h"

#include <cassert>
#include <charconv>
#include <cmath>
#include <utility>

#include "base/unicode.h"

namespace stallhound {
namespace {

constexpr size_t kFlushBytes = 64 * 1024;
constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

template <typename T>
void AppendNumber(T value, std::string& out) {
  char digits[40];
  const auto [end, error] = std::to_chars(digits, digits + sizeof(digits), value);
  assert(error == std::errc());
  out.append(digits, end);
}

void AppendHexEscape(uint32_t unit, std::string& out) {
  constexpr char kHex[] = "0123456789abcdef";
  out += "\\u";
  for (int shift = 12; shift >= 0; shift -= 4) out += kHex[(unit >> shift) & 15];
}

// What must not stand in a JSON string, or must not reach a terminal, as it is.
void AppendEscape(char32_t code, std::string& out) {
  constexpr std::string_view kShort = "\"\"\\\\\bb\ff\nn\rr\tt";  // character and letter in turn
  for (size_t i = 0; i < kShort.size(); i += 2) {
    if (code == static_cast<unsigned char>(kShort[i])) {
      out += '\\';
      out += kShort[i + 1];
      return;
    }
  }
  if (code < 0x10000) return AppendHexEscape(code, out);
  AppendHexEscape(0xD7C0 + (code >> 10), out);  // the surrogates of RFC 8259, section 7
  AppendHexEscape(0xDC00 + (code & 0x3FF), out);
}

}  // namespace

JsonWriter::JsonWriter(Sink sink, int indent_count) : sink_(std::move(sink)), indent_count_(indent_count) {}

JsonWriter::JsonWriter(std::string* out, int indent_count)
    : JsonWriter(
          [out](std::string_view piece) {
            out->append(piece);
            return absl::OkStatus();
          },
          indent_count) {}

void JsonWriter::BeginObject() {
  BeforeValue();
  buffer_ += '{';
  levels_.push_back({true, true});
}

void JsonWriter::EndObject() { Close('}', true); }

void JsonWriter::BeginArray() {
  BeforeValue();
  buffer_ += '[';
  levels_.push_back({false, true});
}

void JsonWriter::EndArray() { Close(']', false); }

void JsonWriter::Key(std::string_view key) {
  assert(!levels_.empty() && levels_.back().is_object && !has_key_);
  if (!levels_.back().is_empty) buffer_ += ',';
  levels_.back().is_empty = false;
  NewLine();
  Quote(key);
  buffer_ += indent_count_ > 0 ? ": " : ":";
  has_key_ = true;
}

void JsonWriter::String(std::string_view value) {
  BeforeValue();
  Quote(value);
  FlushIfLarge();
}

void JsonWriter::Int(int64_t value) {
  BeforeValue();
  AppendNumber(value, buffer_);
  FlushIfLarge();
}

void JsonWriter::Uint(uint64_t value) {
  BeforeValue();
  AppendNumber(value, buffer_);
  FlushIfLarge();
}

void JsonWriter::Double(double value) {
  if (!std::isfinite(value)) return Null();
  BeforeValue();
  AppendNumber(value, buffer_);
  FlushIfLarge();
}

void JsonWriter::Bool(bool value) {
  BeforeValue();
  buffer_ += value ? "true" : "false";
}

void JsonWriter::Null() {
  BeforeValue();
  buffer_ += "null";
}

absl::Status JsonWriter::Finish() {
  assert(levels_.empty() && has_root_);
  if (indent_count_ > 0) buffer_ += '\n';
  Flush();
  return status_;
}

void JsonWriter::BeforeValue() {
  if (levels_.empty()) {
    assert(!has_root_);
    has_root_ = true;
  } else if (levels_.back().is_object) {
    assert(has_key_);
    has_key_ = false;
  } else {
    if (!levels_.back().is_empty) buffer_ += ',';
    levels_.back().is_empty = false;
    NewLine();
  }
}

void JsonWriter::NewLine() {
  if (indent_count_ == 0) return;
  buffer_ += '\n';
  buffer_.append(levels_.size() * static_cast<size_t>(indent_count_), ' ');
}

void JsonWriter::Close(char bracket, bool is_object) {
  assert(!levels_.empty() && levels_.back().is_object == is_object && !has_key_);
  const bool is_empty = levels_.back().is_empty;
  levels_.pop_back();
  if (!is_empty) NewLine();
  buffer_ += bracket;
  FlushIfLarge();
}

void JsonWriter::Quote(std::string_view text) {
  buffer_ += '"';
  size_t copied = 0;
  for (size_t at = 0; at < text.size();) {
    const auto byte = static_cast<unsigned char>(text[at]);
    if (byte >= 0x20 && byte < 0x7F && byte != '"' && byte != '\\') {
      ++at;
      continue;
    }
    const Utf8Char c = FirstUtf8Char(text.substr(at));
    const bool is_plain = c.is_valid && c.code >= 0x80 && !ChangesDisplay(c.code);
    if (!is_plain) {
      buffer_.append(text, copied, at - copied);
      if (c.is_valid) {
        AppendEscape(c.code, buffer_);
      } else {
        buffer_.append(kReplacement);
      }
      copied = at + c.length_bytes;
    }
    at += c.length_bytes;
  }
  buffer_.append(text, copied);
  buffer_ += '"';
}

void JsonWriter::FlushIfLarge() {
  if (buffer_.size() >= kFlushBytes) Flush();
}

void JsonWriter::Flush() {
  if (status_.ok()) status_ = sink_(buffer_);
  buffer_.clear();
}

}  // namespace stallhound
