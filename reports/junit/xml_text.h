#pragma once

#include <string>
#include <string_view>

namespace stallhound::reports {

// Text of unknown origin as character data or value of an attribute of XML 1.0.
std::string XmlText(std::string_view text);

}  // namespace stallhound::reports
