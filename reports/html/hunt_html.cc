#include "reports/html/hunt_html.h"

#include <fmt/format.h>

#include "base/display_text.h"
#include "reports/document/document.h"
#include "reports/html/document_html.h"

namespace stallhound::reports {
namespace {

constexpr size_t kLongestShown = 300;  // columns; what is longer folds

// Nothing is loaded and nothing runs, whatever the recording holds.
constexpr char kPolicy[] = "default-src 'none'; style-src 'unsafe-inline'";

constexpr char kStyle[] = R"css(
:root { color-scheme: light dark; }
body { font: 15px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 110rem; padding: 0 1rem; }
table { border-collapse: collapse; width: 100%; margin: .5rem 0 1.5rem; }
caption { text-align: left; font-size: 1.2rem; font-weight: 600; padding: .4rem 0; }
th, td { text-align: left; padding: .3rem .7rem; border-bottom: 1px solid color-mix(in srgb, currentColor 20%, transparent); vertical-align: top; overflow-wrap: anywhere; }
p { overflow-wrap: anywhere; }
th { white-space: nowrap; }
.number { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
pre { margin: .3rem 0; white-space: pre-wrap; font-size: 13px; }
summary { cursor: pointer; }
)css";

std::string Escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '&':
        out += "&amp;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string Folded(const std::string& summary, const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += Escaped(line) + "\n";
  return fmt::format("<details><summary>{}</summary><pre>{}</pre></details>", Escaped(summary), text);
}

// The second column of a row with details (where it is) opens them.
std::string Cell(const Table& table, size_t row, size_t column) {
  const std::string& text = table.rows[row][column];
  const std::string shown = ShortenedMiddle(text, kLongestShown);
  std::vector<std::string> lines;
  if (shown != text) lines.push_back(text);
  if (column == 1 && row < table.details.size()) {
    lines.insert(lines.end(), table.details[row].begin(), table.details[row].end());
  }
  return lines.empty() ? Escaped(text) : Folded(shown, lines);
}

std::string Sentence(const std::string& text) {
  const std::string shown = ShortenedMiddle(text, kLongestShown);
  return shown == text ? fmt::format("<p>{}</p>\n", Escaped(text)) : Folded(shown, {text}) + "\n";
}

std::string HtmlTable(const std::string& title, const Table& table) {
  const auto style = [&](size_t column) {
    return table.columns[column].kind == ColumnKind::kNumber ? " class=\"number\"" : "";
  };
  std::string out = fmt::format("<table>\n<caption>{}</caption>\n<thead><tr>", Escaped(title));
  for (size_t i = 0; i < table.columns.size(); ++i) {
    out += fmt::format("<th scope=\"col\"{}>{}</th>", style(i), Escaped(table.columns[i].title));
  }
  out += "</tr></thead>\n<tbody>\n";
  for (size_t row = 0; row < table.rows.size(); ++row) {
    out += "<tr>";
    for (size_t i = 0; i < table.rows[row].size(); ++i)
      out += fmt::format("<td{}>{}</td>", style(i), Cell(table, row, i));
    out += "</tr>\n";
  }
  return out + "</tbody>\n</table>\n";
}

}  // namespace

std::string HuntHtml(const analysis::HuntReport& report) { return DocumentHtml(HuntDocument(report)); }

std::string DocumentHtml(const Document& document) {
  std::string out = fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"{2}\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{0}</title>\n"
      "<style>{1}</style>\n</head>\n<body>\n<main>\n<h1>{0}</h1>\n",
      Escaped(document.title), kStyle, kPolicy);
  for (const std::string& sentence : document.summary) out += Sentence(sentence);
  for (const Section& section : document.sections) {
    const bool has_table = !section.table.rows.empty();
    if (!has_table) out += fmt::format("<h2>{}</h2>\n", Escaped(section.title));
    if (has_table) out += HtmlTable(section.title, section.table);
    for (const std::string& sentence : section.sentences) out += Sentence(sentence);
  }
  return out + "</main>\n</body>\n</html>\n";
}

}  // namespace stallhound::reports
