#include "reports/document/place.h"

#include <fmt/format.h>

namespace stallhound::reports {

std::string FileLine(const analysis::Frame& frame) {
  if (!frame.file) return "";
  return frame.line ? fmt::format("{}:{}", *frame.file, *frame.line) : *frame.file;
}

std::string PlaceText(const std::optional<analysis::Frame>& frame, const std::optional<std::string>& native_symbol) {
  if (frame && frame->file) return FileLine(*frame);
  return native_symbol.value_or("unknown");
}

std::string ForwardText(const analysis::Forward& forward) {
  const std::string line = FileLine(forward.frame);
  return "backward of " + (line.empty() ? forward.node : line);
}

}  // namespace stallhound::reports
