#include "cli/gate/case_verdicts.h"

#include <absl/strings/str_join.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "analysis/gate/counts.h"
#include "base/stats/samples.h"
#include "base/status_macros.h"
#include "base/units.h"

namespace stallhound::cli {
namespace {

using analysis::gate::Answer;
using analysis::gate::CountRange;
using analysis::gate::CountVerdict;
using analysis::gate::TimeVerdict;

std::string RangeText(const std::optional<CountRange>& range) {
  if (!range) return "not recorded";
  if (range->is_stable()) return FormatCount(range->min);
  return fmt::format("{} to {}", FormatCount(range->min), FormatCount(range->max));
}

// "pageable to device bytes 0 -> 4,096".
std::string ChangeText(const CountName& name, const CountVerdict& verdict) {
  std::string text = name.memory ? *name.memory + " " : "";
  if (name.is_bytes) text += "bytes ";
  const bool is_equal = verdict.baseline == verdict.candidate;
  return text + RangeText(verdict.candidate.has_value() && is_equal ? verdict.candidate : verdict.baseline) +
         (is_equal ? "" : " -> " + RangeText(verdict.candidate));
}

// Whether a rise of it is one: what is not pageable stands in the total.
bool IsDeciding(const CountName& name) { return !name.memory || name.memory->find("pageable") != std::string::npos; }

struct NamedVerdict {
  CountName name;
  CountVerdict verdict;
};

store::Verdict Folded(const std::vector<NamedVerdict>& parts) {
  std::vector<Answer> answers;
  for (const NamedVerdict& part : parts) {
    if (IsDeciding(part.name)) answers.push_back(part.verdict.answer);
  }
  const Answer answer = analysis::gate::Overall(answers);
  const auto lead = std::find_if(parts.begin(), parts.end(), [&](const NamedVerdict& part) {
    return IsDeciding(part.name) && part.verdict.answer == answer;
  });
  std::vector<std::string> changes;
  for (const NamedVerdict& part : parts) {
    if (part.verdict.baseline != part.verdict.candidate) changes.push_back(ChangeText(part.name, part.verdict));
  }
  if (changes.empty()) changes.push_back(ChangeText(lead->name, lead->verdict));
  store::Verdict verdict;
  verdict.metric = store::Text(lead->name.kind);
  verdict.outcome = OutcomeOf(answer);
  verdict.reason = fmt::format("{}: {}", ReasonName(lead->verdict.reason), absl::StrJoin(changes, "; "));
  const std::optional<CountRange>& before = lead->verdict.baseline;
  const std::optional<CountRange>& after = lead->verdict.candidate;
  if (before && after && before->is_stable() && after->is_stable() && before->min > 0) {
    verdict.effect_ratio = static_cast<double>(after->min) / static_cast<double>(before->min);
  }
  return verdict;
}

std::string WindowText(const analysis::gate::WindowCounts& window) {
  if (!window.problem) return fmt::format("{} iterations", window.iteration_count);
  return fmt::format("{} iterations of at least {}", window.iteration_count, analysis::gate::kLeastIterationCount);
}

std::optional<double> MedianOf(const std::vector<analysis::gate::Round>& rounds) {
  std::vector<double> times;
  for (const analysis::gate::Round& round : rounds) times.push_back(round.time_ns);
  return times.empty() ? std::nullopt : std::optional(stats::MedianInPlace(times));
}

std::string MedianText(const std::vector<analysis::gate::Round>& rounds) {
  const std::optional<double> median = MedianOf(rounds);
  return median ? FormatRoundedDuration(*median) : "not recorded";
}

}  // namespace

store::VerdictOutcome OutcomeOf(Answer answer) {
  switch (answer) {
    case Answer::kPass:
      return store::VerdictOutcome::kPass;
    case Answer::kRegressed:
      return store::VerdictOutcome::kRegressed;
    case Answer::kImproved:
      return store::VerdictOutcome::kImproved;
    case Answer::kSuspect:
      return store::VerdictOutcome::kSuspect;
    case Answer::kInconclusive:
      break;
  }
  return store::VerdictOutcome::kInconclusive;
}

absl::StatusOr<std::vector<store::Verdict>> JudgeCounts(const store::BenchmarkResult& baseline,
                                                        const store::BenchmarkResult& candidate,
                                                        const EnvironmentDifference& environment) {
  SH_ASSIGN_OR_RETURN(CaseCounts before, CountsOf(baseline));
  SH_ASSIGN_OR_RETURN(CaseCounts after, CountsOf(candidate));
  // One verdict says it, not one a kind.
  if (before.window.problem || after.window.problem) {
    before.window.counts.clear();
    after.window.counts.clear();
  }
  std::vector<store::Verdict> verdicts;
  std::map<store::EventKind, std::vector<NamedVerdict>> by_kind;
  for (const CountVerdict& verdict : CompareCounts(before.window, after.window, environment.counts)) {
    const CaseCounts& owner = after.names.contains(verdict.name) ? after : before;
    if (const auto name = owner.names.find(verdict.name); name != owner.names.end()) {
      by_kind[name->second.kind].push_back({name->second, verdict});
      continue;
    }
    store::Verdict& whole = verdicts.emplace_back();
    whole.metric = verdict.name;
    whole.outcome = OutcomeOf(verdict.answer);
    whole.reason = fmt::format("{}: baseline {}, now {}", ReasonName(verdict.reason), WindowText(before.window),
                               WindowText(after.window));
  }
  for (const auto& [kind, parts] : by_kind) verdicts.push_back(Folded(parts));
  return verdicts;
}

store::Verdict TimeVerdictOf(const TimeVerdict& verdict, const analysis::gate::CaseRounds& times) {
  store::Verdict stored;
  stored.benchmark = verdict.benchmark_id;
  stored.outcome = OutcomeOf(verdict.answer);
  stored.reason =
      fmt::format("{}: {} -> {}", ReasonName(verdict.reason), MedianText(times.baseline), MedianText(times.candidate));
  if (verdict.needed_round_count) {
    stored.reason += fmt::format("; {} and {} rounds, needs {} a side", verdict.baseline_round_count,
                                 verdict.candidate_round_count, *verdict.needed_round_count);
  }
  if (verdict.clock_ratio && verdict.reason == analysis::gate::Reason::kClocks) {
    stored.reason += fmt::format("; the SM clock was {:.4f} times the baseline's", *verdict.clock_ratio);
  }
  if (verdict.smallest_effect_ratio && verdict.reason == analysis::gate::Reason::kTooNoisy) {
    stored.reason +=
        fmt::format("; a slow-down below {} need not be seen", FormatPercent(*verdict.smallest_effect_ratio));
  }
  if (verdict.reason == analysis::gate::Reason::kClockTooCoarse) {
    stored.reason += "; known to 1 ns only";
  }
  if (verdict.effect_ratio) stored.effect_ratio = 1 + *verdict.effect_ratio;
  if (verdict.interval) {
    stored.interval_low_ratio = verdict.interval->low;
    stored.interval_high_ratio = verdict.interval->high;
  }
  stored.p_value = verdict.p;
  stored.q_value = verdict.p_adjusted;
  stored.smallest_p_value = verdict.p_min;
  stored.detectable_effect_ratio = verdict.smallest_effect_ratio;
  stored.baseline_round_count = verdict.baseline_round_count;
  stored.run_round_count = verdict.candidate_round_count;
  return stored;
}

}  // namespace stallhound::cli
