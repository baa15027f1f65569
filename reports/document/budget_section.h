#pragma once

// A verdict on a budget in words.

#include <string>
#include <vector>

#include "analysis/hunt/report.h"
#include "reports/document/document.h"

namespace stallhound::reports {

// "at most 64.0 KiB", "at most 2.0%", "at most 3"; what was found, "unknown" if it is.
std::string LimitText(const analysis::BudgetFinding& finding);
std::string FoundText(const analysis::BudgetFinding& finding);

// What one limit came to, with the lines of an excess: "max-waits in range step: 2 found, at most 0, in 10 of 10
// occurrences: train.py:27 (20), train.py:31 (20)". As recorded: a display may obey it.
std::string FindingSentence(const analysis::BudgetFinding& finding);

// "Budget exceeded: 1 of 3 limits."
std::string BudgetSentence(const analysis::BudgetVerdict& verdict);
Section BudgetSection(const analysis::BudgetVerdict& verdict);

}  // namespace stallhound::reports
