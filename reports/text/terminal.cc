#include <algorithm>
#include <optional>

#include "base/display_text.h"
#include "reports/document/document.h"
#include "reports/text/counts_text.h"
#include "reports/text/document_text.h"
#include "reports/text/hunt_text.h"

namespace stallhound::reports {
namespace {

constexpr char kBold[] = "\x1b[1m";
constexpr char kDim[] = "\x1b[2m";
constexpr char kReset[] = "\x1b[0m";
constexpr size_t kNarrowestTerminal = 40;
constexpr size_t kShortestCell = 24;      // less of a name says nothing
constexpr size_t kLongestSentence = 600;  // only a name inside makes one longer

// The columns of a table that stand side by side; the others go below each row.
struct Grid {
  std::vector<size_t> columns;
  std::vector<size_t> widths;  // of each of `columns`
};

// Where cells may be shortened, the widest text columns are until all fit; numbers stay whole. Nullopt: they cannot
// fit.
std::optional<Grid> FittedGrid(const Table& table, std::vector<size_t> columns, size_t limit) {
  Grid grid{std::move(columns), {}};
  size_t total = 2 * (grid.columns.size() - 1);
  for (const size_t column : grid.columns) {
    size_t width = DisplayWidth(table.columns[column].title);
    for (const auto& row : table.rows) width = std::max(width, DisplayWidth(row[column]));
    grid.widths.push_back(width);
    total += width;
  }
  for (; total > limit; --total) {
    size_t* widest = nullptr;
    for (size_t i = 0; i < grid.columns.size(); ++i) {
      const bool is_shortened = table.columns[grid.columns[i]].kind != ColumnKind::kNumber;
      if (is_shortened && grid.widths[i] > kShortestCell && (widest == nullptr || grid.widths[i] > *widest)) {
        widest = &grid.widths[i];
      }
    }
    if (widest == nullptr) return std::nullopt;
    --*widest;
  }
  return grid;
}

bool IsShortened(const std::string& cell, size_t width) { return DisplayWidth(cell) > width; }

bool HasShortened(const Grid& grid, const std::vector<std::string>& cells) {
  for (size_t i = 0; i < grid.columns.size(); ++i) {
    if (IsShortened(cells[grid.columns[i]], grid.widths[i])) return true;
  }
  return false;
}

// All columns if they fit but for a row in four, else the first and the numbers, else the first.
Grid ChosenGrid(const Table& table, size_t limit) {
  std::vector<size_t> all;
  std::vector<size_t> numbers;
  for (size_t i = 0; i < table.columns.size(); ++i) {
    all.push_back(i);
    if (i == 0 || table.columns[i].kind == ColumnKind::kNumber) numbers.push_back(i);
  }
  std::optional<Grid> grid = FittedGrid(table, all, limit);
  if (grid) {
    const auto shortened =
        std::count_if(table.rows.begin(), table.rows.end(), [&](const auto& row) { return HasShortened(*grid, row); });
    if (4 * shortened > static_cast<int64_t>(table.rows.size())) grid.reset();
  }
  if (!grid) grid = FittedGrid(table, numbers, limit);
  if (!grid) grid = FittedGrid(table, {0}, limit);
  return grid ? *grid : Grid{{0}, {limit}};
}

std::string GridLine(const Table& table, const Grid& grid, const std::vector<std::string>& cells) {
  std::string line;
  for (size_t i = 0; i < grid.columns.size(); ++i) {
    const std::string cell = ShortenedMiddle(cells[grid.columns[i]], grid.widths[i]);
    const std::string blanks(grid.widths[i] - DisplayWidth(cell), ' ');
    if (i > 0) line += "  ";
    line += table.columns[grid.columns[i]].kind == ColumnKind::kNumber ? blanks + cell : cell + blanks;
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

// What the grid leaves out or shortens: "  where: train.py:27  API: cudaMemcpy", as many lines as it takes.
std::string LinesBelow(const Table& table, const Grid& grid, const std::vector<std::string>& cells, size_t limit) {
  constexpr std::string_view kIndent = "  ";
  std::string out;
  size_t column = 0;
  for (size_t i = 0; i < cells.size(); ++i) {
    if (cells[i].empty() || cells[i] == kNone) continue;
    std::string pair = table.columns[i].title + ": ";
    const size_t room = limit - std::min(limit, kIndent.size() + DisplayWidth(pair));
    const auto in_grid = std::find(grid.columns.begin(), grid.columns.end(), i);
    if (in_grid != grid.columns.end()) {
      const bool is_whole = !IsShortened(cells[i], grid.widths[in_grid - grid.columns.begin()]);
      if (is_whole || IsShortened(cells[i], room)) continue;
    }
    pair += ShortenedMiddle(cells[i], room);
    const size_t width = kIndent.size() + DisplayWidth(pair);
    if (column > 0 && column + width > limit) {
      out += "\n";
      column = 0;
    }
    out.append(kIndent).append(pair);
    column += width;
  }
  return out.empty() ? out : out + "\n";
}

std::string TerminalTable(const Table& table, size_t limit, bool has_color) {
  const Grid grid = ChosenGrid(table, limit);
  std::vector<std::string> titles;
  for (const Column& column : table.columns) titles.push_back(column.title);
  std::string out = (has_color ? kBold : "") + GridLine(table, grid, titles) + (has_color ? kReset : "");
  for (const auto& row : table.rows) out += GridLine(table, grid, row) + LinesBelow(table, grid, row, limit);
  return out;
}

// Breaks between words.
std::string Wrapped(const std::string& text, size_t limit) {
  const std::string sentence = ShortenedMiddle(text, kLongestSentence);
  std::string out;
  size_t column = 0;
  for (size_t begin = 0; begin < sentence.size();) {
    const size_t end = std::min(sentence.find(' ', begin), sentence.size());
    const std::string word = ShortenedMiddle(sentence.substr(begin, end - begin), limit);
    const size_t width = DisplayWidth(word);
    if (column > 0 && column + 1 + width > limit) {
      out += "\n";
      column = 0;
    }
    out += (column > 0 ? " " : "") + word;
    column += width + (column > 0 ? 1 : 0);
    begin = end + 1;
  }
  return out + "\n";
}

}  // namespace

std::string DocumentTerminal(const Document& document, const TerminalOptions& options) {
  const size_t limit = std::max(static_cast<size_t>(std::max(options.width, 0)), kNarrowestTerminal);
  const auto styled = [&](const char* style, const std::string& text) {
    return options.color ? style + text + kReset : text;
  };
  std::string out = styled(kBold, ShortenedMiddle(document.title, limit)) + "\n";
  for (const std::string& sentence : document.summary) out += Wrapped(sentence, limit);
  for (const Section& section : document.sections) {
    out += "\n" + styled(kBold, ShortenedMiddle(section.title, limit)) + "\n";
    for (const std::string& sentence : section.sentences) out += styled(kDim, Wrapped(sentence, limit));
    if (!section.table.rows.empty()) out += TerminalTable(section.table, limit, options.color);
  }
  return out;
}

std::string HuntTerminal(const analysis::HuntReport& report, const TerminalOptions& options) {
  return DocumentTerminal(HuntDocument(report), options);
}
std::string CountsTerminal(const analysis::CountsReport& report, const TerminalOptions& options) {
  return DocumentTerminal(CountsDocument(report), options);
}

}  // namespace stallhound::reports
