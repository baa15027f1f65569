#include "reports/document/clean_text.h"

#include <fmt/format.h>

#include <cstdint>

#include "base/json_writer.h"

namespace stallhound::reports {
namespace {

bool IsContinuation(char byte) { return (static_cast<unsigned char>(byte) & 0xC0u) == 0x80u; }

// Bytes of the character that begins at `text`, which is not empty.
size_t CharacterLength(std::string_view text) {
  size_t length = 1;
  while (length < text.size() && IsContinuation(text[length])) ++length;
  return length;
}

// Of one valid UTF-8 sequence.
uint32_t CodePoint(std::string_view character) {
  const auto first = static_cast<unsigned char>(character.front());
  if (character.size() == 1) return first;
  uint32_t code = first & (0x7Fu >> character.size());
  for (const char byte : character.substr(1)) code = code << 6u | (static_cast<unsigned char>(byte) & 0x3Fu);
  return code;
}

bool IsBetween(uint32_t code, uint32_t first, uint32_t last) { return code >= first && code <= last; }

bool IsHarmful(uint32_t code) {
  return code < 0x20 || IsBetween(code, 0x7F, 0x9F) || code == 0xAD || code == 0x61C ||
         IsBetween(code, 0x200B, 0x200F) || IsBetween(code, 0x2028, 0x202E) || IsBetween(code, 0x2060, 0x206F) ||
         code == 0xFEFF || IsBetween(code, 0xFFF9, 0xFFFB) || IsBetween(code, 0xE0000, 0xE007F);
}

// The ranges that terminals agree on; what is rare may be one column off.
size_t CharacterWidth(uint32_t code) {
  if (IsBetween(code, 0x300, 0x36F)) return 0;
  const bool is_wide = IsBetween(code, 0x1100, 0x115F) || IsBetween(code, 0x2E80, 0xA4CF) ||
                       IsBetween(code, 0xAC00, 0xD7A3) || IsBetween(code, 0xF900, 0xFAFF) ||
                       IsBetween(code, 0xFE30, 0xFE6F) || IsBetween(code, 0xFF00, 0xFF60) ||
                       IsBetween(code, 0x1F300, 0x1FAFF) || IsBetween(code, 0x20000, 0x3FFFD);
  return is_wide ? 2 : 1;
}

}  // namespace

std::string CleanText(std::string_view text) {
  const std::string valid = ReplaceInvalidUtf8(text);
  std::string clean;
  clean.reserve(valid.size());
  for (std::string_view rest = valid; !rest.empty();) {
    const std::string_view character = rest.substr(0, CharacterLength(rest));
    rest.remove_prefix(character.size());
    const uint32_t code = CodePoint(character);
    if (!IsHarmful(code)) {
      clean += character;
    } else {
      clean += code < 0x100 ? fmt::format("\\x{:02x}", code) : fmt::format("\\u{:04x}", code);
    }
  }
  return clean;
}

size_t DisplayWidth(std::string_view clean) {
  size_t width = 0;
  while (!clean.empty()) {
    const size_t length = CharacterLength(clean);
    width += CharacterWidth(CodePoint(clean.substr(0, length)));
    clean.remove_prefix(length);
  }
  return width;
}

std::string_view HeadOfWidth(std::string_view clean, size_t width) {
  size_t end = 0;
  size_t used = 0;
  while (end < clean.size()) {
    const size_t length = CharacterLength(clean.substr(end));
    used += CharacterWidth(CodePoint(clean.substr(end, length)));
    if (used > width) break;
    end += length;
  }
  return clean.substr(0, end);
}

std::string_view TailOfWidth(std::string_view clean, size_t width) {
  size_t excess = DisplayWidth(clean);
  while (excess > width) {
    const size_t length = CharacterLength(clean);
    excess -= CharacterWidth(CodePoint(clean.substr(0, length)));
    clean.remove_prefix(length);
  }
  return clean;
}

}  // namespace stallhound::reports
