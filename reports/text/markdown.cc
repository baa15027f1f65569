#include <absl/strings/ascii.h>
#include <absl/strings/str_replace.h>
#include <absl/strings/str_split.h>
#include <fmt/format.h>

#include <algorithm>

#include "base/display_text.h"
#include "reports/document/document.h"
#include "reports/text/counts_text.h"
#include "reports/text/document_text.h"
#include "reports/text/hunt_text.h"

namespace stallhound::reports {
namespace {

constexpr size_t kLongestCell = 160;
constexpr size_t kLongestSentence = 600;  // only a name inside makes one longer

// A code span is the only place where Markdown and its hosts leave text alone: no emphasis, HTML, links, mentions (@),
// references (#1), formulas ($) or :emoji:. Its fence is longer than any run of backticks inside.
std::string CodeSpan(const std::string& text) {
  if (text.find_first_not_of(' ') == std::string::npos) return "";
  size_t longest = 0;
  for (size_t begin = text.find('`'); begin != std::string::npos; begin = text.find('`', begin)) {
    const size_t end = std::min(text.find_first_not_of('`', begin), text.size());
    longest = std::max(longest, end - begin);
    begin = end;
  }
  const std::string fence(longest + 1, '`');
  const bool is_padded = text.front() == '`' || text.back() == '`';
  const char* padding = is_padded ? " " : "";
  return fence + padding + text + padding + fence;
}

// True for a word that Markdown can only read as text, but for "1." and "-" at the beginning of a paragraph.
bool IsPlainWord(std::string_view word) {
  const bool has_plain_bytes = std::all_of(word.begin(), word.end(), [](char c) {
    constexpr std::string_view kPlain = ".,;:'\"()%/+-";
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || kPlain.find(c) != std::string_view::npos;
  });
  const bool is_link = word.find("//") != std::string::npos || word.find("www.") != std::string::npos;
  const bool is_emoji = word.find(':') != word.rfind(':');
  return has_plain_bytes && !is_link && !is_emoji;
}

bool IsListMarker(std::string_view word) {
  const bool has_mark = std::string_view(".)+-").find(word.back()) != std::string_view::npos;
  return has_mark && word.find_first_not_of("0123456789.)+-") == std::string_view::npos;
}

// Our own words with names among them: the names become code.
std::string MarkdownText(const std::string& text, bool is_paragraph) {
  std::string out;
  for (const absl::string_view piece : absl::StrSplit(text, ' ', absl::SkipEmpty())) {
    const std::string word(piece);
    const bool is_plain = IsPlainWord(word) && !(is_paragraph && out.empty() && IsListMarker(word));
    const size_t end = word.find_last_not_of(".,;:") + 1;  // the sentence's own
    out += (out.empty() ? "" : " ") + (is_plain ? word : CodeSpan(word.substr(0, end)) + word.substr(end));
  }
  return out;
}

std::string MarkdownCell(ColumnKind kind, const std::string& text) {
  const std::string shown = ShortenedMiddle(text, kLongestCell);
  const bool is_code = kind == ColumnKind::kName && text != kNone;
  // A table takes the backslash away before anything else is read, in code too.
  return absl::StrReplaceAll(is_code ? CodeSpan(shown) : MarkdownText(shown, false), {{"|", "\\|"}});
}

std::string MarkdownTable(const Table& table) {
  std::string out;
  for (const Column& column : table.columns) out += "| " + column.title + " ";
  out += "|\n";
  for (const Column& column : table.columns) out += column.kind == ColumnKind::kNumber ? "|---:" : "|---";
  out += "|\n";
  for (const auto& row : table.rows) {
    for (size_t i = 0; i < row.size(); ++i) out += "| " + MarkdownCell(table.columns[i].kind, row[i]) + " ";
    out += "|\n";
  }
  return out + "\n";
}

std::string Paragraph(const std::string& sentence) {
  return MarkdownText(ShortenedMiddle(sentence, kLongestSentence), true) + "\n\n";
}

}  // namespace

std::string DocumentMarkdown(const Document& document) {
  std::string out = fmt::format("# {}\n\n", MarkdownText(document.title, false));
  for (const std::string& sentence : document.summary) out += Paragraph(sentence);
  for (const Section& section : document.sections) {
    out += fmt::format("## {}\n\n", MarkdownText(section.title, false));
    for (const std::string& sentence : section.sentences) out += Paragraph(sentence);
    if (!section.table.rows.empty()) out += MarkdownTable(section.table);
  }
  out.pop_back();  // the blank line behind the last paragraph
  return out;
}

std::string HuntMarkdown(const analysis::HuntReport& report) { return DocumentMarkdown(HuntDocument(report)); }
std::string CountsMarkdown(const analysis::CountsReport& report) { return DocumentMarkdown(CountsDocument(report)); }

}  // namespace stallhound::reports
