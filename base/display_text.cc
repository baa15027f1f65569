#include "base/display_text.h"

#include "base/unicode.h"

namespace stallhound {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";
constexpr std::string_view kEllipsis = "...";
constexpr int kMostMarks = 4;  // Hebrew with points and cantillation has three

// The first byte at or behind `begin` of a character that is no mark.
size_t SkipMarks(std::string_view text, size_t begin) {
  while (begin < text.size()) {
    const Utf8Char c = FirstUtf8Char(text.substr(begin));
    if (ColumnsOf(c.code) > 0) break;
    begin += c.length_bytes;
  }
  return begin;
}

// Bytes of the longest beginning of at most `width` columns, marks included.
size_t PrefixBytes(std::string_view text, size_t width) {
  size_t end = 0;
  while (end < text.size()) {
    const Utf8Char c = FirstUtf8Char(text.substr(end));
    const auto columns = static_cast<size_t>(ColumnsOf(c.code));
    if (columns > width) break;
    width -= columns;
    end += c.length_bytes;
  }
  return end;
}

}  // namespace

std::string Displayable(std::string_view text) {
  std::string shown;
  shown.reserve(text.size());
  int mark_count = 0;
  while (!text.empty()) {
    const Utf8Char c = FirstUtf8Char(text);
    mark_count = ColumnsOf(c.code) == 0 ? mark_count + 1 : 0;
    if (c.code == '\t' || c.code == '\n' || c.code == '\r') {
      shown += ' ';
    } else if (!c.is_valid || ChangesDisplay(c.code)) {
      shown += kReplacement;
      mark_count = 0;
    } else if (mark_count <= kMostMarks) {
      shown += text.substr(0, c.length_bytes);
    }
    text.remove_prefix(c.length_bytes);
  }
  return shown;
}

size_t DisplayWidth(std::string_view text) {
  size_t width = 0;
  while (!text.empty()) {
    const Utf8Char c = FirstUtf8Char(text);
    width += static_cast<size_t>(ColumnsOf(c.code));
    text.remove_prefix(c.length_bytes);
  }
  return width;
}

std::string ShortenedMiddle(std::string_view text, size_t width) {
  const size_t own_width = DisplayWidth(text);
  if (own_width <= width) return std::string(text);
  if (width <= kEllipsis.size()) return std::string(kEllipsis.substr(0, width));
  // The end says more than the beginning: file and line of a path, template arguments of a kernel.
  const size_t head_width = (width - kEllipsis.size()) / 3;
  const size_t tail_width = width - kEllipsis.size() - head_width;
  const std::string_view head = text.substr(0, PrefixBytes(text, head_width));
  size_t tail_begin = SkipMarks(text, PrefixBytes(text, own_width - tail_width));
  if (DisplayWidth(text.substr(tail_begin)) > tail_width) {  // a wide character straddles the cut
    tail_begin = SkipMarks(text, tail_begin + FirstUtf8Char(text.substr(tail_begin)).length_bytes);
  }
  return std::string(head).append(kEllipsis).append(text.substr(tail_begin));
}

std::string DisplayableMessage(std::string_view text) {
  constexpr size_t kMostWidth = 300;
  return ShortenedMiddle(Displayable(text), kMostWidth);
}

}  // namespace stallhound
