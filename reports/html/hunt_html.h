#pragma once

// A hunt as one static HTML page without external resources or scripts: readable in light and dark, from a file.

#include <string>

#include "analysis/hunt/report.h"

namespace stallhound::reports {

// All text from the recording is escaped.
std::string HuntHtml(const analysis::HuntReport& report);

}  // namespace stallhound::reports
