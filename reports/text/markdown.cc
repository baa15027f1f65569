#include <absl/strings/str_cat.h>
#include <absl/strings/string_view.h>

#include "reports/text/clean_text.h"
#include "reports/text/render.h"

namespace stallhound::reports {
namespace {

std::string Escape(std::string_view raw) {
  std::string escaped;
  for (const char c : CleanText(raw)) {
    switch (c) {
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '&':
        escaped += "&amp;";
        break;
      case '@':  // a mention
        escaped += "&#64;";
        break;
      case '#':  // a link to an issue, a heading
        escaped += "&#35;";
        break;
      case ':':  // "https:" links by itself
        escaped += escaped.ends_with("http") || escaped.ends_with("https") ? "&#58;" : ":";
        break;
      case '\\':
      case '`':
      case '*':
      case '_':
      case '[':
      case ']':
      case '|':
      case '~':
      case '$':
        escaped += '\\';
        [[fallthrough]];
      default:
        escaped += c;
    }
  }
  return escaped;
}

void AppendRow(const std::vector<std::string>& cells, std::string& out) {
  for (const std::string& cell : cells) absl::StrAppend(&out, "| ", Escape(cell), " ");
  out += "|\n";
}

void AppendTable(const Table& table, std::string& out) {
  absl::StrAppend(&out, Escape(table.caption), ":\n\n");
  std::vector<std::string> titles;
  for (const Column& column : table.columns) titles.push_back(column.title);
  AppendRow(titles, out);
  for (const Column& column : table.columns) out += column.is_number ? "|---:" : "|---";
  out += "|\n";
  for (const std::vector<std::string>& row : table.rows) AppendRow(row, out);
  out += "\n";
}

void AppendList(const std::vector<std::string>& lines, std::string& out) {
  for (const std::string& line : lines) absl::StrAppend(&out, "- ", Escape(line), "\n");
  if (!lines.empty()) out += "\n";
}

}  // namespace

std::string RenderMarkdown(const Document& document) {
  std::string out = absl::StrCat("# ", Escape(document.title), "\n\n");
  for (const std::string& alarm : document.alarms) absl::StrAppend(&out, "> **Incomplete:** ", Escape(alarm), "\n\n");
  AppendList(document.lines, out);
  for (const Section& section : document.sections) {
    absl::StrAppend(&out, "## ", Escape(section.title), "\n\n");
    AppendList(section.lines, out);
    if (section.table) AppendTable(*section.table, out);
    for (const Detail& detail : section.details) {
      absl::StrAppend(&out, "<details><summary>", Escape(detail.summary), "</summary>\n\n");
      AppendList(detail.lines, out);
      out += "</details>\n\n";
    }
  }
  while (out.ends_with("\n\n")) out.pop_back();
  return out;
}

}  // namespace stallhound::reports
