#include "cli/option_checks.h"

#include <absl/strings/numbers.h>
#include <fmt/format.h>

#include <optional>

#include "cli/config/config.h"

namespace stallhound::cli {

OptionCheck WholeNumber(int64_t least, int64_t most) {
  return [least, most](const std::string& value) -> std::string {
    int64_t number = 0;
    if (absl::SimpleAtoi(value, &number) && number >= least && number <= most) return "";
    const std::string end =
        most == std::numeric_limits<int64_t>::max() ? std::string("on") : fmt::format("to {}", most);
    return fmt::format("'{}': a whole number from {} {} is expected", value, least, end);
  };
}

OptionCheck Ratio() {
  return [](const std::string& value) -> std::string {
    double ratio = 0;
    if (absl::SimpleAtod(value, &ratio) && ratio >= 0 && ratio <= 1) return "";
    return fmt::format("'{}': a ratio from 0 to 1 is expected, such as 0.05", value);
  };
}

OptionCheck RegularExpression() {
  return [](const std::string& value) -> std::string {
    const std::optional<std::string> problem = RegexProblem(value);
    return problem ? fmt::format("'{}' is no regular expression ({})", value, *problem) : "";
  };
}

}  // namespace stallhound::cli
