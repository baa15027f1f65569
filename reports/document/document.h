#pragma once

// A report before it has a format: sections of sentences and tables of text. text/ and html/ print it. All text is
// Displayable (base/display_text.h): whatever a recording holds, a format only needs to escape what it reads itself,
// and to shorten what is too long for it.

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/counts/counts.h"
#include "analysis/hunt/report.h"

namespace stallhound::reports {

// What a cell without a value holds: the thing does not apply (a native symbol has no function).
inline constexpr char kNone[] = "-";

enum class ColumnKind : uint8_t {
  kText,    // our own words, names possibly among them
  kNumber,  // right-aligned, never shortened
  kName,    // a name from the recording: a place, a function, a range
};

struct Column {
  std::string title;
  ColumnKind kind = ColumnKind::kText;
};

struct Table {
  std::vector<Column> columns;
  std::vector<std::vector<std::string>> rows;
  std::vector<std::vector<std::string>> details;  // by row: lines below it (a stack); may be empty
};

struct Section {
  std::string title;
  std::vector<std::string> sentences;
  Table table;  // no columns: none
};

struct Document {
  std::string title;
  std::vector<std::string> summary;
  std::vector<Section> sections;
};

// Makes all of its text Displayable: nothing a recording holds may act on what shows it. Blank sentences go.
Document DisplayableDocument(Document document);

// Unknown numbers are "not recorded", never 0.
Document HuntDocument(const analysis::HuntReport& report);
Document CountsDocument(const analysis::CountsReport& report);

}  // namespace stallhound::reports
