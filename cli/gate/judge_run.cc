#include "cli/gate/judge_run.h"

#include <absl/strings/str_join.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/status_macros.h"
#include "cli/gate/case_verdicts.h"
#include "cli/gate/confirmed_verdicts.h"
#include "cli/gate/judgement_notes.h"
#include "cli/gate/judgement_uuid.h"
#include "cli/gate/run_values.h"

namespace stallhound::cli {
namespace {

using analysis::gate::Answer;
using analysis::gate::CaseRounds;
using analysis::gate::TimeVerdict;
using store::BenchmarkOutcome;
using store::BenchmarkResult;
using store::Verdict;
using store::VerdictOutcome;

constexpr uint64_t kSeed = 1;  // the same runs give the same verdicts

using CaseKey = std::pair<std::string, std::string>;  // suite, name

std::map<CaseKey, const BenchmarkResult*> ByName(const store::RunRecord& run) {
  std::map<CaseKey, const BenchmarkResult*> cases;
  for (const BenchmarkResult& result : run.benchmarks) cases[{result.suite, result.name}] = &result;
  return cases;
}

std::string SuitesText(const std::map<CaseKey, const BenchmarkResult*>& cases) {
  std::set<std::string> suites;
  for (const auto& [key, result] : cases) suites.insert(key.first);
  return absl::StrJoin(suites, "', '");
}

double BudgetOf(const GateConfig& gate, const std::string& benchmark) {
  double ratio = gate.time_budget_ratio;
  for (const TimeBudget& budget : gate.budgets) {
    if (Matches(budget.benchmark, benchmark)) ratio = budget.ratio;
  }
  return ratio;
}

// A time that the screen has looked at.
struct ScreenedTime {
  std::string suite;
  std::string metric;
  CaseRounds rounds;
  TimeVerdict verdict;
};

class Judge {
 public:
  explicit Judge(const JudgeRequest& request)
      : request_(request), environment_(CompareEnvironments(request.baseline->info, request.candidate->info)) {}

  absl::StatusOr<JudgedRun> Run() {
    SH_RETURN_IF_ERROR(JudgeCases());
    SH_RETURN_IF_ERROR(Confirm());
    for (const ScreenedTime& time : times_) AddTime(time);
    if (judged_.judgement.verdicts.empty()) {
      return absl::FailedPreconditionError(fmt::format(
          "judging the run {}: it and the baseline {} have nothing in common that was measured on both sides, no case "
          "with counts or times; name another baseline, or run the same suite",
          request_.candidate->info.uuid, request_.baseline->info.uuid));
    }
    AddUncounted();
    Acknowledge();
    store::Judgement& judgement = judged_.judgement;
    judgement.run_uuid = request_.candidate->info.uuid;
    judgement.baseline_run_uuids = {request_.baseline->info.uuid};
    judgement.rule_version = kGateRuleVersion;
    judgement.judged_at_ns = request_.judged_at_ns;
    std::sort(judgement.verdicts.begin(), judgement.verdicts.end(), [](const Verdict& a, const Verdict& b) {
      return std::tie(a.suite, a.benchmark, a.metric) < std::tie(b.suite, b.benchmark, b.metric);
    });
    judgement.uuid = JudgementUuid(judgement);
    AddNotes();
    return std::move(judged_);
  }

 private:
  absl::Status JudgeCases() {
    const auto before = ByName(*request_.baseline);
    const auto after = ByName(*request_.candidate);
    const bool has_common =
        std::any_of(after.begin(), after.end(), [&](const auto& entry) { return before.contains(entry.first); });
    if (!has_common) {
      const std::string suites = SuitesText(after), baseline_suites = SuitesText(before);
      return absl::FailedPreconditionError(
          fmt::format("judging the run {}: none of its {} cases is among the {} of the baseline {} {}",
                      request_.candidate->info.uuid, after.size(), before.size(), request_.baseline->info.uuid,
                      suites == baseline_suites
                          ? fmt::format("though both are of the suite '{}': they were renamed, or others were run; "
                                        "name another baseline, or make a run of now the baseline",
                                        suites)
                          : fmt::format("(suites '{}' and '{}'); name another baseline, or run the same suite", suites,
                                        baseline_suites)));
    }
    for (const auto& [key, result] : after) {
      const auto found = before.find(key);
      SH_RETURN_IF_ERROR(JudgeCase(found == before.end() ? nullptr : found->second, *result));
    }
    for (const auto& [key, result] : before) {
      if (after.contains(key) || result->outcome == BenchmarkOutcome::kSkipped) continue;
      AddOutcome(*result, VerdictOutcome::kInconclusive, "case-missing: the run does not hold it");
    }
    return absl::OkStatus();
  }

  // `baseline` may be null.
  absl::Status JudgeCase(const BenchmarkResult* baseline, const BenchmarkResult& candidate) {
    if (candidate.outcome == BenchmarkOutcome::kFailed) {
      const bool failed_before = baseline != nullptr && baseline->outcome == BenchmarkOutcome::kFailed;
      const std::string reason = fmt::format("case-failed: {}{}", candidate.message.value_or("no message"),
                                             failed_before ? "; failed in the baseline too" : "");
      AddOutcome(candidate, failed_before ? VerdictOutcome::kInconclusive : VerdictOutcome::kRegressed, reason);
      return absl::OkStatus();
    }
    const bool was_measured = baseline != nullptr && baseline->outcome == BenchmarkOutcome::kMeasured;
    if (candidate.outcome == BenchmarkOutcome::kSkipped) {
      if (was_measured) {
        AddOutcome(candidate, VerdictOutcome::kInconclusive,
                   fmt::format("case-skipped: {}", candidate.message.value_or("no message")));
      }
      return absl::OkStatus();
    }
    if (baseline == nullptr) return absl::OkStatus();
    if (!was_measured) {
      AddOutcome(candidate, VerdictOutcome::kInconclusive,
                 fmt::format("baseline-not-measured: {} in the baseline: {}", store::Text(baseline->outcome),
                             baseline->message.value_or("no message")));
      return absl::OkStatus();
    }
    SH_RETURN_IF_ERROR(CompareCase(*baseline, candidate));
    return ScreenCase(*baseline, candidate);
  }

  absl::Status CompareCase(const BenchmarkResult& baseline, const BenchmarkResult& candidate) {
    SH_ASSIGN_OR_RETURN(std::vector<Verdict> verdicts, JudgeCounts(baseline, candidate, environment_));
    if (verdicts.empty()) uncounted_.push_back(&candidate);
    const bool is_comparable = environment_.counts.empty();
    CaseDifference difference = DifferenceOf(baseline, candidate);
    bool has_changed = !difference.kernels.risen.empty() || !difference.kernels.fallen.empty();
    for (Verdict& verdict : verdicts) {
      verdict.suite = candidate.suite;
      verdict.benchmark = candidate.name;
      const bool is_change = verdict.outcome == VerdictOutcome::kRegressed ||
                             verdict.outcome == VerdictOutcome::kImproved ||
                             verdict.outcome == VerdictOutcome::kSuspect;
      has_changed = has_changed || is_change;
      AddVerdict(std::move(verdict));
    }
    if (!has_changed || !is_comparable) return absl::OkStatus();
    judged_.differences.push_back(std::move(difference));
    return absl::OkStatus();
  }

  absl::Status ScreenCase(const BenchmarkResult& baseline, const BenchmarkResult& candidate) {
    for (const char* metric : {"gpu_time_ns", "cpu_time_ns"}) {
      const store::Point* before = FindPoint(baseline, metric);
      const store::Point* after = FindPoint(candidate, metric);
      if (before == nullptr && after == nullptr) continue;
      if (before == nullptr || after == nullptr) {
        AddVerdict(
            {.suite = candidate.suite,
             .benchmark = candidate.name,
             .metric = metric,
             .reason = fmt::format("not-recorded: only the {} holds it", before == nullptr ? "run" : "baseline")});
        continue;
      }
      ScreenedTime& time = times_.emplace_back();
      time.suite = candidate.suite;
      time.metric = metric;
      time.rounds.benchmark_id = candidate.name;
      time.rounds.baseline = RoundsOf(*before);
      time.rounds.candidate = RoundsOf(*after);
      time.rounds.budget_ratio = BudgetOf(request_.gate, candidate.name);
      time.rounds.environment_differs = !environment_.times.empty();
      const auto source =
          request_.are_interleaved ? analysis::gate::RoundSource::kInterleaved : analysis::gate::RoundSource::kStored;
      SH_ASSIGN_OR_RETURN(time.verdict, ScreenTimes(time.rounds, source, kSeed));
      return absl::OkStatus();
    }
    return absl::OkStatus();
  }

  // Replaces the verdicts of the screen that fresh rounds can prove or clear.
  absl::Status Confirm() {
    std::vector<ScreenedTime*> suspects;
    std::vector<std::string> names;
    for (ScreenedTime& time : times_) {
      if (time.verdict.answer != Answer::kSuspect) continue;
      suspects.push_back(&time);
      names.push_back(time.rounds.benchmark_id);
    }
    if (suspects.empty() || !request_.confirm) return absl::OkStatus();
    SH_ASSIGN_OR_RETURN(const int64_t rounds_a_side,
                        analysis::gate::ConfirmRoundCount(static_cast<int64_t>(suspects.size()), request_.gate.q));
    SH_ASSIGN_OR_RETURN(std::vector<CaseRounds> fresh, request_.confirm(names, rounds_a_side));
    if (fresh.size() != suspects.size()) {
      return absl::InternalError(
          fmt::format("confirming {} cases: rounds of {} came back", suspects.size(), fresh.size()));
    }
    std::vector<analysis::gate::Confirmation> cases;
    for (size_t i = 0; i < suspects.size(); ++i) {
      CaseRounds& rounds = suspects[i]->rounds;
      rounds.baseline = std::move(fresh[i].baseline);
      rounds.candidate = std::move(fresh[i].candidate);
      cases.push_back({rounds, suspects[i]->verdict.direction()});
    }
    SH_ASSIGN_OR_RETURN(const std::vector<TimeVerdict> verdicts,
                        ConfirmTimes(cases, {.q = request_.gate.q, .seed = kSeed}));
    for (size_t i = 0; i < suspects.size(); ++i) suspects[i]->verdict = verdicts[i];
    return absl::OkStatus();
  }

  void AddTime(const ScreenedTime& time) {
    Verdict verdict = TimeVerdictOf(time.verdict, time.rounds);
    verdict.suite = time.suite;
    verdict.metric = time.metric;
    const bool is_open =
        verdict.outcome == VerdictOutcome::kSuspect || verdict.outcome == VerdictOutcome::kInconclusive;
    if (is_open && request_.is_same_program && !time.rounds.environment_differs) {
      verdict.outcome = VerdictOutcome::kPass;
      verdict.reason = fmt::format("{}: {}", kSameProgramReason, verdict.reason);
    }
    if (verdict.outcome == VerdictOutcome::kSuspect && !request_.confirm) {
      const StandingRule rule = {time.rounds.budget_ratio, request_.gate.q};
      if (const Verdict* known = FindStanding(verdict, request_.confirmed, rule)) {
        verdict = *known;
        settled_.push_back(verdict.benchmark);
      }
    }
    AddVerdict(std::move(verdict));
  }

  void AddVerdict(Verdict verdict) { judged_.judgement.verdicts.push_back(std::move(verdict)); }

  void AddOutcome(const BenchmarkResult& result, VerdictOutcome outcome, const std::string& reason) {
    AddVerdict({.suite = result.suite,
                .benchmark = result.name,
                .metric = kOutcomeMetric,
                .outcome = outcome,
                .reason = reason});
  }

  // A pass would say that no count rose, and nobody knows.
  void AddUncounted() {
    if (HaveNothingToCount(request_.baseline->info, request_.candidate->info)) return;
    for (const BenchmarkResult* result : uncounted_) {
      AddVerdict({.suite = result->suite,
                  .benchmark = result->name,
                  .metric = kCountsMetric,
                  .outcome = VerdictOutcome::kInconclusive,
                  .reason = "not-recorded: on neither side"});
    }
  }

  void AddNotes() {
    judged_.notes = JudgementNotes({.baseline = request_.baseline,
                                    .candidate = request_.candidate,
                                    .verdicts = judged_.judgement.verdicts,
                                    .acknowledgements = request_.acknowledgements,
                                    .judged_at_ns = request_.judged_at_ns});
    if (settled_.empty()) return;
    judged_.notes.push_back(fmt::format(
        "Times as interleaved rounds of an earlier judgement of these two runs said: {}.", NamedCases(settled_)));
  }

  void Acknowledge() {
    for (Verdict& verdict : judged_.judgement.verdicts) {
      if (verdict.outcome != VerdictOutcome::kRegressed) continue;
      if (!FindAcknowledgement(verdict, request_.acknowledgements, request_.judged_at_ns)) continue;
      verdict.outcome = VerdictOutcome::kPass;
      verdict.reason = fmt::format("{}: {}", kAcknowledgedReason, verdict.reason);
    }
  }

  const JudgeRequest& request_;
  const EnvironmentDifference environment_;
  JudgedRun judged_;
  std::vector<ScreenedTime> times_;
  std::vector<std::string> settled_;
  std::vector<const BenchmarkResult*> uncounted_;  // neither side has counts
};

}  // namespace

absl::StatusOr<JudgedRun> JudgeRun(const JudgeRequest& request) { return Judge(request).Run(); }

}  // namespace stallhound::cli
