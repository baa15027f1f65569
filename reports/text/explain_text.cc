#include "reports/text/explain_text.h"

#include <absl/strings/str_split.h>
#include <fmt/format.h>

#include <algorithm>

namespace stallhound::reports {
namespace {

const char* SourceText(analysis::Certainty certainty) {
  switch (certainty) {
    case analysis::Certainty::kMeasured:
      return "counted in recordings of a GPU";
    case analysis::Certainty::kSource:
      return "read in the library's source; versions differ";
    case analysis::Certainty::kDocumented:
      return "documented by the library or CUDA";
    case analysis::Certainty::kUnverified:
      return "not verified; look at your recording";
  }
  return "unknown";
}

std::string Indented(const std::string& text) {
  std::string out;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    if (!line.empty()) out.append("  ").append(line.data(), line.size());
    out += '\n';
  }
  out.pop_back();
  return out;
}

}  // namespace

std::string EntryText(const analysis::CatalogueEntry& entry, bool has_color) {
  const auto heading = [&](const std::string& text) {
    return has_color ? "\x1b[1m" + text + "\x1b[0m\n" : text + "\n";
  };
  std::string out = heading(fmt::format("{}: {}", entry.id, entry.title));
  out += "\n" + heading("Why") + Indented(entry.why);
  out += "\n" + heading("Fix") + Indented(entry.fix);
  out += "\n" + heading("Before") + Indented(entry.before);
  out += "\n" + heading("After") + Indented(entry.after);
  return out + fmt::format("\nSource: {}.\n", SourceText(entry.certainty));
}

std::string CatalogueText(const analysis::Catalogue& catalogue) {
  size_t width = 0;
  for (const analysis::CatalogueEntry& entry : catalogue.entries()) width = std::max(width, entry.id.size());
  std::string out;
  for (const analysis::CatalogueEntry& entry : catalogue.entries()) {
    out += fmt::format("{:{}}  {}\n", entry.id, width, entry.title);
  }
  return out;
}

}  // namespace stallhound::reports
