#pragma once

// What ranks waited for each other, in words.

#include <string>

#include "analysis/hunt/report.h"
#include "reports/document/document.h"

namespace stallhound::reports {

// Of the longest delay: "Rank 0 waited 98.2 ms in 20 collectives for rank 1: 96% stall at train.py:27, 4% host." A
// delay must be there.
std::string RankDelaySentence(const analysis::HuntReport& report);
Section RanksSection(const analysis::HuntReport& report);

}  // namespace stallhound::reports
