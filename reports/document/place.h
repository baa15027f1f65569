#pragma once

// Where a site is, in a word.

#include <optional>
#include <string>

#include "analysis/hunt/report.h"

namespace stallhound::reports {

// "train.py:27", "train.py" without a line, "" without a file.
std::string FileLine(const analysis::Frame& frame);

// The file and line, else the native symbol, else "unknown". As recorded: a display may obey it.
std::string PlaceText(const std::optional<analysis::Frame>& frame, const std::optional<std::string>& native_symbol);

// "backward of train.py:27".
std::string ForwardText(const analysis::Forward& forward);

// Of a hunt's, a budget's or counts' site.
template <typename AnySite>
std::string PlaceText(const AnySite& site) {
  return site.forward ? ForwardText(*site.forward) : PlaceText(site.innermost_user, site.native_symbol);
}

}  // namespace stallhound::reports
