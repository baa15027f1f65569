#pragma once

// A report before it has a format: sections of sentences and tables of text. text/ and html/ print it.

#include <string>
#include <vector>

#include "analysis/counts/counts.h"
#include "analysis/hunt/report.h"

namespace stallhound::reports {

struct Table {
  std::vector<std::string> columns;
  std::vector<bool> is_number;  // by column: right-aligned
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

// Unknown numbers are "not recorded", never 0.
Document HuntDocument(const analysis::HuntReport& report);
Document CountsDocument(const analysis::CountsReport& report);

// "train.py:27", a native symbol, "module+0x1f"; "unknown" if nothing is known.
std::string PlaceText(const std::optional<analysis::Frame>& frame, const std::optional<std::string>& native_symbol);
std::string FrameText(const analysis::Frame& frame);
std::string CopiesText(const std::vector<analysis::CopySummary>& copies);

}  // namespace stallhound::reports
