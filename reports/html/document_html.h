#pragma once

// Any document as a page; the rules of reports/html/hunt_html.h hold.

#include <string>

#include "reports/document/document.h"

namespace stallhound::reports {

// Details of a row open at its second column.
std::string DocumentHtml(const Document& document);

}  // namespace stallhound::reports
