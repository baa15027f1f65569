#pragma once

// A gate's report without a format: regressions first, with what is new in their cases.

#include <string>
#include <vector>

#include "reports/document/document.h"
#include "reports/gate/gate_report.h"

namespace stallhound::reports {

Document GateDocument(const GateReport& report);

// The same without title and summary, for a report that holds more.
std::vector<Section> GateSections(const GateReport& report);

// "Baseline aaaa0000: 2026-01-01 00:00:00 UTC, commit 0123456789ab of main, machine bench-1, NVIDIA H200."
std::string RunSentence(const char* what, const GateRun& run);

// The file and line, else the native symbol, else "unknown". As recorded: a display may obey it.
std::string SitePlace(const analysis::gate::SiteCount& site);

// "2 regressed, 1 improved, 29 pass; counts not recorded in 4 cases; the run was interrupted".
std::string AnswersSentence(const GateReport& report);

// "Slow-downs are seen from 1.2% in half of 12 timed cases, from 54.0% in the noisiest.", of the cases whose times were
// judged; "Times were not judged." if none was; empty: no times.
std::string SeenFromSentence(const GateReport& report);

}  // namespace stallhound::reports
