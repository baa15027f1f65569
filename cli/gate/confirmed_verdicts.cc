#include "cli/gate/confirmed_verdicts.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "cli/gate/judge_run.h"

namespace stallhound::cli {
namespace {

using store::Verdict;
using store::VerdictOutcome;

auto KeyOf(const Verdict& verdict) { return std::tie(verdict.suite, verdict.benchmark, verdict.metric); }

bool Stands(const Verdict& verdict, const StandingRule& rule) {
  const auto is_outside = [&](const std::optional<double>& ratio) {
    return ratio && (*ratio > 1 + rule.budget_ratio || *ratio < 1 - rule.budget_ratio);
  };
  switch (verdict.outcome) {
    case VerdictOutcome::kRegressed:
      return *verdict.q_value <= rule.q && is_outside(verdict.interval_low_ratio);
    case VerdictOutcome::kImproved:
      return *verdict.q_value <= rule.q && is_outside(verdict.interval_high_ratio);
    case VerdictOutcome::kPass:
      return *verdict.q_value > rule.q || !is_outside(verdict.effect_ratio);
    case VerdictOutcome::kSuspect:
    case VerdictOutcome::kInconclusive:
      break;
  }
  return true;
}

}  // namespace

std::vector<Verdict> ConfirmedVerdicts(std::span<const store::Judgement> judgements, const std::string& baseline_uuid) {
  const std::string acknowledged = absl::StrCat(kAcknowledgedReason, ": ");
  std::vector<Verdict> confirmed;
  std::set<std::tuple<std::string, std::string, std::string>> seen;
  for (const store::Judgement& judgement : judgements) {
    const bool is_of_baseline = judgement.baseline_run_uuids == std::vector{baseline_uuid};
    if (!is_of_baseline || judgement.rule_version != kGateRuleVersion) continue;
    for (Verdict verdict : judgement.verdicts) {
      // Only confirmed rounds have a q.
      if (!verdict.q_value || !seen.insert(KeyOf(verdict)).second) continue;
      if (verdict.reason.starts_with(acknowledged)) {
        verdict.reason.erase(0, acknowledged.size());
        verdict.outcome = VerdictOutcome::kRegressed;
      }
      confirmed.push_back(std::move(verdict));
    }
  }
  return confirmed;
}

const Verdict* FindStanding(const Verdict& verdict, std::span<const Verdict> confirmed, const StandingRule& rule) {
  const auto found = std::find_if(confirmed.begin(), confirmed.end(),
                                  [&](const Verdict& other) { return KeyOf(other) == KeyOf(verdict); });
  return found != confirmed.end() && Stands(*found, rule) ? &*found : nullptr;
}

}  // namespace stallhound::cli
