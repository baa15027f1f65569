#include "reports/junit/xml_text.h"

#include <absl/strings/str_replace.h>

#include "base/display_text.h"

namespace stallhound::reports {

// Displayable text has no character that XML forbids.
std::string XmlText(std::string_view text) {
  return absl::StrReplaceAll(Displayable(text),
                             {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}, {"'", "&apos;"}});
}

}  // namespace stallhound::reports
