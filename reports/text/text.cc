#include <fmt/format.h>

#include <algorithm>

#include "reports/document/document.h"
#include "reports/text/counts_text.h"
#include "reports/text/hunt_text.h"

namespace stallhound::reports {
namespace {

constexpr char kBold[] = "\x1b[1m";
constexpr char kDim[] = "\x1b[2m";
constexpr char kReset[] = "\x1b[0m";
constexpr size_t kNarrowest = 8;

// Control characters of a recording must not reach a terminal.
std::string Printable(const std::string& text) {
  std::string safe = text;
  for (char& c : safe) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  }
  return safe;
}

// Columns in a terminal: UTF-8 continuation bytes take none.
size_t WidthOf(const std::string& text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

// Keeps the end of what is too long: of a path, that is the file and line.
std::string Fitted(const std::string& text, size_t width, bool is_number) {
  const size_t own = WidthOf(text);
  if (own <= width) {
    const std::string blanks(width - own, ' ');
    return is_number ? blanks + text : text + blanks;
  }
  size_t begin = text.size();
  for (size_t left = width - 3; left > 0 && begin > 0;) {
    --begin;
    if ((text[begin] & 0xc0) != 0x80) --left;
  }
  return "..." + text.substr(begin);
}

std::vector<size_t> Widths(const Table& table, size_t limit) {
  std::vector<size_t> widths;
  for (const std::string& column : table.columns) widths.push_back(WidthOf(column));
  for (const auto& row : table.rows) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], WidthOf(Printable(row[i])));
  }
  const auto total = [&] {
    size_t sum = 2 * (widths.size() - 1);
    for (const size_t width : widths) sum += width;
    return sum;
  };
  // Takes from the widest text column first; numbers stay whole.
  while (total() > limit) {
    size_t widest = widths.size();
    for (size_t i = 0; i < widths.size(); ++i) {
      if (!table.is_number[i] && widths[i] > kNarrowest && (widest == widths.size() || widths[i] > widths[widest])) {
        widest = i;
      }
    }
    if (widest == widths.size()) break;
    --widths[widest];
  }
  return widths;
}

std::string TerminalTable(const Table& table, const TerminalOptions& options) {
  const std::vector<size_t> widths = Widths(table, static_cast<size_t>(std::max(options.width, 20)));
  std::string out = options.color ? kBold : "";
  const auto line = [&](const std::vector<std::string>& cells) {
    std::string text;
    for (size_t i = 0; i < cells.size(); ++i) {
      text += (i == 0 ? "" : "  ") + Fitted(Printable(cells[i]), widths[i], table.is_number[i]);
    }
    text.erase(text.find_last_not_of(' ') + 1);
    return text;
  };
  out += line(table.columns) + (options.color ? kReset : "") + "\n";
  for (const auto& row : table.rows) out += line(row) + "\n";
  return out;
}

// Breaks between words.
std::string Wrapped(const std::string& sentence, size_t width) {
  std::string out;
  size_t column = 0;
  for (size_t begin = 0; begin < sentence.size();) {
    const size_t end = std::min(sentence.find(' ', begin), sentence.size());
    const std::string word = sentence.substr(begin, end - begin);
    if (column > 0 && column + 1 + word.size() > width) {
      out += "\n";
      column = 0;
    }
    out += (column > 0 ? " " : "") + word;
    column += word.size() + (column > 0 ? 1 : 0);
    begin = end + 1;
  }
  return out + "\n";
}

std::string Terminal(const Document& document, const TerminalOptions& options) {
  const auto width = static_cast<size_t>(std::max(options.width, 20));
  const auto title = [&](const std::string& text) {
    return options.color ? kBold + text + kReset + "\n" : text + "\n";
  };
  std::string out = title(document.title);
  for (const std::string& sentence : document.summary) out += Wrapped(Printable(sentence), width);
  for (const Section& section : document.sections) {
    out += "\n" + title(section.title);
    for (const std::string& sentence : section.sentences) {
      out += (options.color ? kDim : "") + Wrapped(Printable(sentence), width) + (options.color ? kReset : "");
    }
    if (!section.table.rows.empty()) out += TerminalTable(section.table, options);
  }
  return out;
}

std::string MarkdownCell(const std::string& text) {
  std::string out;
  for (const char c : Printable(text)) {
    if (std::string_view("\\|`*_<>[]#&").find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

std::string Markdown(const Document& document) {
  std::string out = fmt::format("# {}\n\n", document.title);
  for (const std::string& sentence : document.summary) out += MarkdownCell(sentence) + "\n\n";
  for (const Section& section : document.sections) {
    out += fmt::format("## {}\n\n", section.title);
    for (const std::string& sentence : section.sentences) out += MarkdownCell(sentence) + "\n\n";
    const Table& table = section.table;
    if (table.rows.empty()) continue;
    for (const std::string& column : table.columns) out += "| " + column + " ";
    out += "|\n";
    for (const bool is_number : table.is_number) out += is_number ? "|---:" : "|---";
    out += "|\n";
    for (const auto& row : table.rows) {
      for (const std::string& cell : row) out += "| " + MarkdownCell(cell) + " ";
      out += "|\n";
    }
    out += "\n";
  }
  return out;
}

}  // namespace

std::string HuntTerminal(const analysis::HuntReport& report, const TerminalOptions& options) {
  return Terminal(HuntDocument(report), options);
}
std::string HuntMarkdown(const analysis::HuntReport& report) { return Markdown(HuntDocument(report)); }
std::string CountsTerminal(const analysis::CountsReport& report, const TerminalOptions& options) {
  return Terminal(CountsDocument(report), options);
}
std::string CountsMarkdown(const analysis::CountsReport& report) { return Markdown(CountsDocument(report)); }

}  // namespace stallhound::reports
