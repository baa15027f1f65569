#include "base/json_writer.h"

#include <cassert>
#include <charconv>
#include <cmath>
#include <utility>

namespace stallhound {
namespace {

constexpr size_t kFlushBytes = 64 * 1024;
constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

bool IsContinuation(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

// Length of the valid UTF-8 sequence at the front of `text`, 0 if there is none (Unicode 15, table 3-7).
size_t Utf8Length(std::string_view text) {
  const unsigned char first = static_cast<unsigned char>(text[0]);
  if (first < 0x80) return 1;
  const size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < length) return 0;
  for (size_t i = 1; i < length; ++i) {
    if (!IsContinuation(text[i])) return 0;
  }
  const unsigned char second = static_cast<unsigned char>(text[1]);
  const bool is_overlong = (first == 0xE0 && second < 0xA0) || (first == 0xF0 && second < 0x90);
  const bool is_surrogate = first == 0xED && second >= 0xA0;
  const bool is_beyond = first == 0xF4 && second >= 0x90;
  return is_overlong || is_surrogate || is_beyond ? 0 : length;
}

template <typename T>
void AppendNumber(T value, std::string& out) {
  char digits[40];
  const auto [end, error] = std::to_chars(digits, digits + sizeof(digits), value);
  assert(error == std::errc());
  out.append(digits, end);
}

// The escape of a byte that must not stand in a JSON string as it is; empty if it may.
std::string_view Escape(unsigned char c, char (&scratch)[7]) {
  switch (c) {
    case '"':
      return "\\\"";
    case '\\':
      return "\\\\";
    case '\b':
      return "\\b";
    case '\f':
      return "\\f";
    case '\n':
      return "\\n";
    case '\r':
      return "\\r";
    case '\t':
      return "\\t";
    default:
      break;
  }
  if (c >= 0x20 && c != 0x7F) return {};
  constexpr char kHex[] = "0123456789abcdef";
  const char text[] = {'\\', 'u', '0', '0', kHex[c >> 4], kHex[c & 15]};
  for (int i = 0; i < 6; ++i) scratch[i] = text[i];
  return {scratch, 6};
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
  size_t at = 0;
  char scratch[7];
  while (at < text.size()) {
    const size_t length = Utf8Length(text.substr(at));
    std::string_view instead = length == 0 ? kReplacement : std::string_view();
    if (length == 1) instead = Escape(static_cast<unsigned char>(text[at]), scratch);
    if (!instead.empty()) {
      buffer_.append(text, copied, at - copied);
      buffer_.append(instead);
      copied = at + 1;
    }
    at += length == 0 ? 1 : length;
  }
  buffer_.append(text, copied, at - copied);
  buffer_ += '"';
}

void JsonWriter::FlushIfLarge() {
  if (buffer_.size() >= kFlushBytes) Flush();
}

void JsonWriter::Flush() {
  if (status_.ok()) status_ = sink_(buffer_);
  buffer_.clear();
}

std::string ReplaceInvalidUtf8(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const size_t length = Utf8Length(text.substr(at));
    result.append(length == 0 ? kReplacement : text.substr(at, length));
    at += length == 0 ? 1 : length;
  }
  return result;
}

}  // namespace stallhound
