#include "cli/gate/judgement_notes.h"

#include <absl/strings/str_join.h>
#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "base/clock.h"
#include "cli/gate/judge_run.h"
#include "cli/gate/run_values.h"

namespace stallhound::cli {
namespace {

using store::BenchmarkOutcome;
using store::BenchmarkResult;

constexpr size_t kMostNamedCases = 8;

using Cases = std::map<std::pair<std::string, std::string>, const BenchmarkResult*>;  // by suite and name

Cases ByName(const store::RunRecord& run) {
  Cases cases;
  for (const BenchmarkResult& result : run.benchmarks) cases[{result.suite, result.name}] = &result;
  return cases;
}

void AddNames(std::string_view what, const std::vector<std::string>& names, std::vector<std::string>& notes) {
  if (!names.empty()) notes.push_back(fmt::format("{}: {}.", what, NamedCases(names)));
}

void AddRuns(const store::RunInfo& before, const store::RunInfo& after, std::vector<std::string>& notes) {
  const EnvironmentDifference environment = CompareEnvironments(before, after);
  for (const analysis::gate::KeyDifference& key : environment.times) {
    const bool is_of_counts = std::any_of(environment.counts.begin(), environment.counts.end(),
                                          [&](const auto& count) { return count.name == key.name; });
    notes.push_back(fmt::format("The environment differs: {} was {}, is {}; {} cannot be judged.", key.name,
                                key.baseline.value_or("not recorded"), key.candidate.value_or("not recorded"),
                                is_of_counts ? "counts and times" : "times"));
  }
  if (before.machine != after.machine) {
    notes.push_back(fmt::format("The machines differ: {} and {}.", before.machine, after.machine));
  }
  if (before.status != store::RunStatus::kComplete) notes.push_back("The baseline was interrupted.");
  if (after.status != store::RunStatus::kComplete) notes.push_back("The run was interrupted.");
  AddNames("Not recorded on either side and taken as equal", environment.unknown, notes);
  AddNames("Recorded on one side only and taken as equal", environment.one_sided, notes);
}

void AddCases(const store::RunRecord& baseline, const store::RunRecord& candidate, std::vector<std::string>& notes) {
  const Cases before = ByName(baseline), after = ByName(candidate);
  std::vector<std::string> added, missing, nothing_to_count;
  for (const auto& [key, result] : after) {
    if (result->outcome != BenchmarkOutcome::kMeasured) continue;
    const auto found = before.find(key);
    if (found == before.end()) {
      added.push_back(key.second);
    } else if (found->second->outcome == BenchmarkOutcome::kMeasured && result->event_counts.empty() &&
               found->second->event_counts.empty() && HaveNothingToCount(baseline.info, candidate.info)) {
      nothing_to_count.push_back(key.second);
    }
  }
  for (const auto& [key, result] : before) {
    if (!after.contains(key) && result->outcome != BenchmarkOutcome::kSkipped) missing.push_back(key.second);
  }
  AddNames("Not in the baseline, so not judged", added, notes);
  AddNames("In the baseline but not in this run", missing, notes);
  AddNames("Nothing to count, as both sides ran on the CPU", nothing_to_count, notes);
}

bool HasCode(const store::Verdict& verdict, std::string_view code) {
  return verdict.reason.starts_with(fmt::format("{}: ", code));
}

void AddVerdicts(const JudgedPair& pair, std::vector<std::string>& notes) {
  std::vector<std::string> same_program;
  for (const store::Verdict& verdict : pair.verdicts) {
    if (HasCode(verdict, kSameProgramReason)) same_program.push_back(verdict.benchmark);
  }
  AddNames("Other times, or too noisy ones, of the same program, and so the machine's", same_program, notes);
  for (const store::Verdict& verdict : pair.verdicts) {
    if (!HasCode(verdict, kAcknowledgedReason)) continue;
    const store::Acknowledgement* known = FindAcknowledgement(verdict, pair.acknowledgements, pair.judged_at_ns);
    if (known == nullptr) continue;
    notes.push_back(fmt::format("{} of {} is acknowledged until {} by {}: {}{}", verdict.metric, verdict.benchmark,
                                FormatUtc(known->expires_at_ns), known->author, known->reason,
                                known->issue_url ? " (" + *known->issue_url + ")" : ""));
  }
}

}  // namespace

bool Matches(const std::string& pattern, const std::string& text) {
  return fnmatch(pattern.c_str(), text.c_str(), 0) == 0;
}

const store::Acknowledgement* FindAcknowledgement(const store::Verdict& verdict,
                                                  std::span<const store::Acknowledgement> acknowledgements,
                                                  int64_t at_ns) {
  const auto found =
      std::find_if(acknowledgements.begin(), acknowledgements.end(), [&](const store::Acknowledgement& known) {
        const bool is_in_force = known.created_at_ns <= at_ns && at_ns < known.expires_at_ns;
        return is_in_force && (!known.metric || *known.metric == verdict.metric) &&
               Matches(known.benchmark_pattern, verdict.suite + "/" + verdict.benchmark);
      });
  return found == acknowledgements.end() ? nullptr : &*found;
}

std::string NamedCases(const std::vector<std::string>& cases) {
  const size_t shown = std::min(cases.size(), kMostNamedCases);
  std::string text = absl::StrJoin(cases.begin(), cases.begin() + static_cast<ptrdiff_t>(shown), ", ");
  if (shown < cases.size()) text += fmt::format(" and {} more", cases.size() - shown);
  return text;
}

bool HaveNothingToCount(const store::RunInfo& baseline, const store::RunInfo& candidate) {
  const auto is_recorded_on_cpu = [](const store::RunInfo& info) {
    return info.hardware.gpu_count == 0 && !info.captures.empty();
  };
  return is_recorded_on_cpu(baseline) && is_recorded_on_cpu(candidate);
}

std::vector<std::string> JudgementNotes(const JudgedPair& pair) {
  std::vector<std::string> notes;
  AddRuns(pair.baseline->info, pair.candidate->info, notes);
  AddCases(*pair.baseline, *pair.candidate, notes);
  AddVerdicts(pair, notes);
  return notes;
}

}  // namespace stallhound::cli
