#include "analysis/hunt/steps/summary.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/units.h"

namespace stallhound::analysis {
namespace {

std::string FoundSentence(const StepsSummary& summary) {
  const std::string how =
      summary.source == StepSource::kNvtx ? "range " + summary.range.value_or("") : std::string("kernel sequence");
  std::string sentence =
      fmt::format("Found {} steps of {} ({})", summary.found_count, FormatDuration(summary.period_ns.value_or(0)), how);
  if (summary.warm_up_count > 0) sentence += fmt::format(", {} of them warm-up", summary.warm_up_count);
  if (summary.other_count > 0) sentence += fmt::format(", {} with other content", summary.other_count);
  return sentence + fmt::format("; {} measured.", summary.measured_count);
}

}  // namespace

const char* StepSourceName(StepSource source) {
  switch (source) {
    case StepSource::kNvtx:
      return "nvtx";
    case StepSource::kSequence:
      return "sequence";
    case StepSource::kNone:
      break;
  }
  return "none";
}

std::vector<std::string> StepsSentences(const StepsSummary& summary) {
  if (summary.source == StepSource::kNone) {
    return {
        fmt::format("No steady state found: {}. The whole recording is measured.", summary.reason.value_or("unknown"))};
  }
  std::vector<std::string> sentences = {FoundSentence(summary)};
  std::vector<std::string> costs;
  for (const OneOffCost& cost : summary.one_off_costs) {
    costs.push_back(fmt::format("{} x {} ({})", cost.count, cost.what, FormatDuration(cost.host_ns)));
  }
  if (!costs.empty()) sentences.push_back(fmt::format("Outside the measured steps: {}.", fmt::join(costs, ", ")));
  return sentences;
}

}  // namespace stallhound::analysis
