#pragma once

#include <string>

#include "analysis/hunt/catalogue/catalogue.h"

namespace stallhound::reports {

// An entry of the catalogue for a terminal: lines of at most 80 columns, code as it is written.
std::string EntryText(const analysis::CatalogueEntry& entry, bool has_color);
// One line an entry: id and title.
std::string CatalogueText(const analysis::Catalogue& catalogue);

}  // namespace stallhound::reports
