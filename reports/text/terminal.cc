#include <absl/strings/str_cat.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "base/units.h"
#include "reports/text/clean_text.h"
#include "reports/text/render.h"

namespace stallhound::reports {
namespace {

constexpr size_t kSmallestWidth = 40;
constexpr size_t kSmallestColumn = 10;  // of those that may be cut
constexpr size_t kMostRows = 30;
constexpr size_t kMostDetails = 5;
constexpr size_t kMostDetailLines = 16;
constexpr std::string_view kGap = "  ";
constexpr std::string_view kCut = "...";

constexpr char kBold[] = "\x1b[1m";
constexpr char kRed[] = "\x1b[1;31m";
constexpr char kDim[] = "\x1b[2m";
constexpr char kPlain[] = "\x1b[0m";

class Terminal {
 public:
  explicit Terminal(const TerminalOptions& options)
      : has_color_(options.color), width_(std::max<size_t>(std::max(options.width, 0), kSmallestWidth)) {}

  void Line(std::string_view text, const char* color = nullptr) {
    const bool is_colored = has_color_ && color != nullptr && !text.empty();
    if (is_colored) out_ += color;
    out_ += text;
    if (is_colored) out_ += kPlain;
    out_ += '\n';
  }

  // Breaks between words; later lines are indented two further.
  void Wrapped(const std::string& raw, size_t indent, const char* color = nullptr) {
    const std::string clean = CleanText(raw);
    std::string_view rest = clean;
    std::string margin(indent, ' ');
    do {
      std::string_view head = HeadOfWidth(rest, width_ - margin.size());
      if (head.size() < rest.size()) {
        const size_t blank = head.rfind(' ');
        if (blank != std::string_view::npos && blank > 0) head = head.substr(0, blank);
      }
      Line(absl::StrCat(margin, absl::string_view(head.data(), head.size())), color);
      rest.remove_prefix(head.size());
      while (!rest.empty() && rest.front() == ' ') rest.remove_prefix(1);
      margin.assign(indent + 2, ' ');
    } while (!rest.empty());
  }

  void PrintTable(const Table& raw);

  std::string Finish() { return std::move(out_); }

 private:
  std::vector<size_t> Widths(const Table& table) const;
  void Row(const Table& table, const std::vector<size_t>& widths, const std::vector<std::string>& cells,
           const char* color);
  void Records(const Table& table);

  const bool has_color_;
  const size_t width_;
  std::string out_;
};

std::string FitTo(const std::string& cell, size_t width, Cut cut) {
  if (DisplayWidth(cell) <= width) return cell;
  const size_t kept = width - kCut.size();
  if (cut == Cut::kStart) return fmt::format("{}{}", kCut, TailOfWidth(cell, kept));
  return fmt::format("{}{}", HeadOfWidth(cell, kept), kCut);
}

Table Cleaned(const Table& raw) {
  Table table{CleanText(raw.caption), raw.columns, {}};
  for (size_t row = 0; row < std::min(raw.rows.size(), kMostRows); ++row) {
    std::vector<std::string>& cells = table.rows.emplace_back();
    for (const std::string& cell : raw.rows[row]) cells.push_back(CleanText(cell));
  }
  return table;
}

// Empty if even the narrowest columns do not fit.
std::vector<size_t> Terminal::Widths(const Table& table) const {
  std::vector<size_t> widths;
  size_t total = kGap.size() * (table.columns.size() - 1);
  for (size_t i = 0; i < table.columns.size(); ++i) {
    size_t width = DisplayWidth(table.columns[i].title);
    for (const auto& row : table.rows) width = std::max(width, DisplayWidth(row[i]));
    widths.push_back(width);
    total += width;
  }
  while (total > width_) {
    size_t widest = widths.size();
    for (size_t i = 0; i < widths.size(); ++i) {
      const bool can_shrink = table.columns[i].cut != Cut::kNever && widths[i] > kSmallestColumn;
      if (can_shrink && (widest == widths.size() || widths[i] > widths[widest])) widest = i;
    }
    if (widest == widths.size()) return {};
    --widths[widest];
    --total;
  }
  return widths;
}

void Terminal::Row(const Table& table, const std::vector<size_t>& widths, const std::vector<std::string>& cells,
                   const char* color) {
  std::string line;
  for (size_t i = 0; i < cells.size(); ++i) {
    const std::string cell = FitTo(cells[i], widths[i], table.columns[i].cut);
    const std::string padding(widths[i] - std::min(widths[i], DisplayWidth(cell)), ' ');
    if (i > 0) line += kGap;
    line += table.columns[i].is_number ? padding + cell : cell + padding;
  }
  line.erase(line.find_last_not_of(' ') + 1);
  Line(line, color);
}

// One line per cell, for terminals too narrow for the table.
void Terminal::Records(const Table& table) {
  for (const auto& row : table.rows) {
    for (size_t i = 0; i < row.size(); ++i) {
      Wrapped(absl::StrCat(table.columns[i].title, ": ", row[i]), i == 0 ? 0 : 2);
    }
  }
}

void Terminal::PrintTable(const Table& raw) {
  const Table table = Cleaned(raw);
  const std::vector<size_t> widths = Widths(table);
  if (widths.empty()) {
    Records(table);
  } else {
    std::vector<std::string> titles;
    for (const Column& column : table.columns) titles.push_back(column.title);
    Row(table, widths, titles, kDim);
    for (const auto& row : table.rows) Row(table, widths, row, nullptr);
  }
  if (raw.rows.size() > table.rows.size()) {
    Wrapped(fmt::format("{} more rows: --format json has all of them",
                        FormatCount(static_cast<int64_t>(raw.rows.size() - table.rows.size()))),
            0, kDim);
  }
}

void PrintDetails(const std::vector<Detail>& details, Terminal& terminal) {
  for (size_t i = 0; i < std::min(details.size(), kMostDetails); ++i) {
    const Detail& detail = details[i];
    terminal.Wrapped(detail.summary, 0, kBold);
    const size_t line_count = std::min(detail.lines.size(), kMostDetailLines);
    for (size_t line = 0; line < line_count; ++line) terminal.Wrapped(detail.lines[line], 2);
    if (line_count < detail.lines.size()) {
      terminal.Wrapped(fmt::format("{} more lines", detail.lines.size() - line_count), 2, kDim);
    }
  }
  if (details.size() > kMostDetails) {
    terminal.Wrapped(fmt::format("{} more: --format json has all of them", details.size() - kMostDetails), 0, kDim);
  }
}

}  // namespace

std::string RenderTerminal(const Document& document, const TerminalOptions& options) {
  Terminal terminal(options);
  terminal.Wrapped(document.title, 0, kBold);
  for (const std::string& alarm : document.alarms) terminal.Wrapped("INCOMPLETE: " + alarm, 0, kRed);
  for (const std::string& line : document.lines) terminal.Wrapped(line, 0);
  for (const Section& section : document.sections) {
    terminal.Line("");
    terminal.Wrapped(section.title, 0, kBold);
    for (const std::string& line : section.lines) terminal.Wrapped(line, 0);
    if (section.table) terminal.PrintTable(*section.table);
    PrintDetails(section.details, terminal);
  }
  return terminal.Finish();
}

}  // namespace stallhound::reports
