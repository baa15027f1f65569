#include "record/nvtx/operator_text.h"

#include <charconv>

#include "capture/spool/format.h"

namespace stallhound::record {
namespace {

constexpr std::string_view kSequence = ", seq = ";
constexpr std::string_view kOperatorId = ", op_id = ";

}  // namespace

std::optional<OperatorText> ParseOperatorText(std::string_view text) {
  // The first comma of most names is the one before the number; a template's arguments have others.
  for (size_t comma = text.find(','); comma != std::string_view::npos; comma = text.find(',', comma + 1)) {
    const std::string_view rest = text.substr(comma);
    const bool has_sequence = rest.substr(0, kSequence.size()) == kSequence;
    if (!has_sequence && rest.substr(0, kOperatorId.size()) != kOperatorId) continue;
    OperatorText result{text.substr(0, comma), capture::spool::kNonePayload};
    const char* digits = rest.data() + (has_sequence ? kSequence.size() : kOperatorId.size());
    int64_t number = 0;
    const auto [end, error] = std::from_chars(digits, rest.data() + rest.size(), number);
    const bool is_whole = end == rest.data() + rest.size() || *end == ',';
    if (error != std::errc() || !is_whole || number < 0) return std::nullopt;
    if (has_sequence) result.sequence = number;
    return result;
  }
  return std::nullopt;
}

}  // namespace stallhound::record
