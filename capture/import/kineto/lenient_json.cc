#include "capture/import/kineto/lenient_json.h"

#include "base/unicode.h"

namespace stallhound::capture {
namespace {

bool IsSpace(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }

size_t SkipSpace(std::string_view text, size_t i) {
  while (i < text.size() && IsSpace(text[i])) ++i;
  return i;
}

// The position behind the closing quote of the string that begins at `i`, or nullopt.
std::optional<size_t> StringEnd(std::string_view text, size_t i) {
  for (++i; i < text.size(); ++i) {
    if (text[i] == '"' && EndsString(text.substr(i + 1))) return i + 1;
    if (text[i] != '\\') continue;
    if (i + 1 == text.size()) return std::nullopt;
    if (text[i + 1] == '"' && EndsStringInBackslash(text.substr(i + 2))) return i + 2;
    ++i;
  }
  return std::nullopt;
}

// The position behind the container that begins at `i`, or nullopt.
std::optional<size_t> ContainerEnd(std::string_view text, size_t i) {
  int depth = 0;
  while (i < text.size()) {
    const char c = text[i];
    if (c == '"') {
      const std::optional<size_t> end = StringEnd(text, i);
      if (!end) return std::nullopt;
      i = *end;
      continue;
    }
    ++i;
    if (c == '{' || c == '[') ++depth;
    if ((c == '}' || c == ']') && --depth <= 0) return i;
  }
  return std::nullopt;
}

size_t ScalarEnd(std::string_view text, size_t i) {
  while (i < text.size() && text[i] != ',' && text[i] != '}' && text[i] != ']' && text[i] != '\n') ++i;
  return i;
}

std::string_view TrimEnd(std::string_view text) {
  while (!text.empty() && IsSpace(text.back())) text.remove_suffix(1);
  return text;
}

void AppendUtf8(uint32_t code, std::string* out) {
  if (code < 0x80) {
    *out += static_cast<char>(code);
  } else if (code < 0x800) {
    *out += static_cast<char>(0xc0 | code >> 6);
    *out += static_cast<char>(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    *out += static_cast<char>(0xe0 | code >> 12);
    *out += static_cast<char>(0x80 | (code >> 6 & 0x3f));
    *out += static_cast<char>(0x80 | (code & 0x3f));
  } else {
    *out += static_cast<char>(0xf0 | code >> 18);
    *out += static_cast<char>(0x80 | (code >> 12 & 0x3f));
    *out += static_cast<char>(0x80 | (code >> 6 & 0x3f));
    *out += static_cast<char>(0x80 | (code & 0x3f));
  }
}

std::optional<uint32_t> HexCode(std::string_view raw, size_t i) {
  if (i + 4 > raw.size()) return std::nullopt;
  uint32_t code = 0;
  for (const char c : raw.substr(i, 4)) {
    const int digit = c >= '0' && c <= '9'   ? c - '0'
                      : c >= 'a' && c <= 'f' ? c - 'a' + 10
                      : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                             : -1;
    if (digit < 0) return std::nullopt;
    code = code << 4 | static_cast<uint32_t>(digit);
  }
  return code;
}

// Handles the escape at raw[i] == '\\'; returns the position behind it, or 0 if it is none.
size_t AppendEscape(std::string_view raw, size_t i, std::string* out) {
  static constexpr std::string_view kEscapes = "\"\\/bfnrt";
  static constexpr std::string_view kMeanings = "\"\\/\b\f\n\r\t";
  if (i + 1 >= raw.size()) return 0;
  if (const size_t which = kEscapes.find(raw[i + 1]); which != std::string_view::npos) {
    *out += kMeanings[which];
    return i + 2;
  }
  if (raw[i + 1] != 'u') return 0;
  const std::optional<uint32_t> code = HexCode(raw, i + 2);
  if (!code) return 0;
  if (*code >= 0xd800 && *code < 0xdc00 && i + 7 < raw.size() && raw[i + 6] == '\\' && raw[i + 7] == 'u') {
    const std::optional<uint32_t> low = HexCode(raw, i + 8);
    if (low && *low >= 0xdc00 && *low < 0xe000) {
      AppendUtf8(0x10000 + ((*code - 0xd800) << 10) + (*low - 0xdc00), out);
      return i + 12;
    }
  }
  AppendUtf8(*code >= 0xd800 && *code < 0xe000 ? 0xfffd : *code, out);
  return i + 6;
}

}  // namespace

bool EndsString(std::string_view after) {
  size_t i = SkipSpace(after, 0);
  if (i == after.size() || after[i] == ':') return true;
  if (after[i] == ',') {
    // Inside a string that holds JSON, the next quote would be escaped.
    i = SkipSpace(after, i + 1);
    if (i == after.size()) return true;
    const char c = after[i];
    return c == '"' || c == '{' || c == '[' || c == '-' || (c >= '0' && c <= '9') || c == 't' || c == 'f' || c == 'n';
  }
  if (after[i] != '}' && after[i] != ']') return false;
  while (i < after.size() && (after[i] == '}' || after[i] == ']' || IsSpace(after[i]))) ++i;
  return i == after.size() || after[i] == ',';
}

bool EndsStringInBackslash(std::string_view after) {
  const size_t i = SkipSpace(after, 0);
  if (i == after.size() || after[i] == ':') return false;
  if (after[i] != ',') return EndsString(after);
  const size_t next = SkipSpace(after, i + 1);
  return next < after.size() && after[next] == '"';
}

std::optional<size_t> TolerantObjectSize(std::string_view text) { return ContainerEnd(text, 0); }

bool ForEachMember(std::string_view text, const MemberSink& sink) {
  size_t i = SkipSpace(text, 0);
  if (i == text.size() || text[i] != '{') return false;
  ++i;
  while (true) {
    while (i < text.size() && (IsSpace(text[i]) || text[i] == ',')) ++i;
    if (i >= text.size() || text[i] != '"') return true;
    const std::optional<size_t> key_end = StringEnd(text, i);
    if (!key_end) return true;
    const std::string_view key = text.substr(i + 1, *key_end - i - 2);
    i = SkipSpace(text, *key_end);
    if (i >= text.size() || text[i] != ':') continue;
    i = SkipSpace(text, i + 1);
    if (i >= text.size()) return true;
    size_t end = ScalarEnd(text, i);
    if (text[i] == '"') end = StringEnd(text, i).value_or(text.size());
    if (text[i] == '{' || text[i] == '[') end = ContainerEnd(text, i).value_or(text.size());
    sink(key, TrimEnd(text.substr(i, end - i)));
    i = end;
  }
}

std::string Unescape(std::string_view raw, int64_t* forgiven_count) {
  std::string out;
  out.reserve(raw.size());
  for (size_t i = 0; i < raw.size();) {
    const char c = raw[i];
    if (c == '\\') {
      if (const size_t next = AppendEscape(raw, i, &out); next != 0) {
        i = next;
        continue;
      }
      ++*forgiven_count;
      out += c;
      ++i;
      continue;
    }
    const Utf8Char character = FirstUtf8Char(raw.substr(i));
    if (!character.is_valid || character.code < 0x20) {
      ++*forgiven_count;
      out += character.is_valid ? "?" : "\xef\xbf\xbd";
      ++i;
      continue;
    }
    out.append(raw, i, character.length_bytes);
    i += character.length_bytes;
  }
  return out;
}

}  // namespace stallhound::capture
