#include "cli/step_options.h"

#include <absl/strings/numbers.h>
#include <absl/strings/str_split.h>
#include <fmt/format.h>

#include <vector>

#include "cli/exit_code.h"
#include "cli/option_checks.h"

namespace stallhound::cli {
namespace {

absl::StatusOr<std::pair<int64_t, int64_t>> ParseNumbers(const std::string& text) {
  const std::vector<std::string> ends = absl::StrSplit(text, '-');
  int64_t first = 0;
  int64_t last = 0;
  const bool parses = ends.size() == 2 && absl::SimpleAtoi(ends[0], &first) && absl::SimpleAtoi(ends[1], &last);
  if (parses && first >= 1 && last >= first) return std::pair(first, last);
  return UsageError(
      fmt::format("--steps: '{}' is neither auto nor none nor FIRST-LAST, such as 6-25, counted from 1", text));
}

}  // namespace

void AddStepOptions(CLI::App& command, StepOptions& options) {
  command.add_option("--steps", options.steps, "Per steady step, found by itself: auto, none, or 6-25 for these steps")
      ->type_name("STEPS");
  command.add_option("--skip", options.skip_count, "Leave out the first N steps found instead of their warm-up")
      ->check(WholeNumber(0))
      ->type_name("N");
}

absl::StatusOr<std::optional<analysis::StepSelection>> SelectSteps(const StepOptions& options,
                                                                   const std::string& range) {
  std::optional<analysis::StepSelection> selection;
  const bool is_none = options.steps == "none";
  if (is_none && options.skip_count) return UsageError("--skip leaves out steps, and --steps none asks for none");
  if (is_none || (options.steps.empty() && !options.skip_count)) return selection;
  if (!range.empty()) return UsageError("either --range or --steps and --skip: both say what is measured");
  selection.emplace();
  selection->skip_count = options.skip_count;
  if (options.steps.empty() || options.steps == "auto") return selection;
  if (options.skip_count) return UsageError("either --skip or --steps FIRST-LAST: both say which steps are measured");
  const absl::StatusOr<std::pair<int64_t, int64_t>> numbers = ParseNumbers(options.steps);
  if (!numbers.ok()) return numbers.status();
  selection->numbers = *numbers;
  return selection;
}

}  // namespace stallhound::cli
