#include "cli/gate/gate_values.h"

#include <string_view>

namespace stallhound::cli {
namespace {

analysis::gate::Answer AnswerOf(store::VerdictOutcome outcome) {
  using analysis::gate::Answer;
  switch (outcome) {
    case store::VerdictOutcome::kPass:
      return Answer::kPass;
    case store::VerdictOutcome::kRegressed:
      return Answer::kRegressed;
    case store::VerdictOutcome::kImproved:
      return Answer::kImproved;
    case store::VerdictOutcome::kSuspect:
      return Answer::kSuspect;
    case store::VerdictOutcome::kInconclusive:
      break;
  }
  return Answer::kInconclusive;
}

}  // namespace

reports::GateRun GateRunOf(const store::RunInfo& info) {
  reports::GateRun run;
  run.uuid = info.uuid;
  run.started_at_ns = info.started_at_ns;
  if (info.revision) run.commit = info.revision->sha;
  run.branch = info.branch;
  run.machine = info.machine;
  run.device = info.hardware.gpu_count == 0 ? info.hardware.cpu_model : info.hardware.gpu_name;
  return run;
}

std::vector<reports::GateVerdict> GateVerdictsOf(const store::Judgement& judgement) {
  constexpr std::string_view kSeparator = ": ";
  std::vector<reports::GateVerdict> verdicts;
  for (const store::Verdict& verdict : judgement.verdicts) {
    const size_t end = verdict.reason.find(kSeparator);
    reports::GateVerdict& out = verdicts.emplace_back();
    out.suite = verdict.suite;
    out.benchmark = verdict.benchmark;
    out.metric = verdict.metric;
    out.answer = AnswerOf(verdict.outcome);
    out.reason = verdict.reason.substr(0, end);
    if (end != std::string::npos) out.change = verdict.reason.substr(end + kSeparator.size());
    out.effect_ratio = verdict.effect_ratio;
    out.interval_low_ratio = verdict.interval_low_ratio;
    out.interval_high_ratio = verdict.interval_high_ratio;
    out.p_value = verdict.p_value;
    out.q_value = verdict.q_value;
    out.smallest_p_value = verdict.smallest_p_value;
    out.detectable_effect_ratio = verdict.detectable_effect_ratio;
    out.baseline_round_count = verdict.baseline_round_count;
    out.run_round_count = verdict.run_round_count;
  }
  return verdicts;
}

std::vector<reports::GateDifference> GateDifferencesOf(const std::vector<CaseDifference>& differences) {
  std::vector<reports::GateDifference> out;
  for (const CaseDifference& difference : differences) {
    out.push_back({difference.benchmark, difference.kernels, difference.sites});
  }
  return out;
}

}  // namespace stallhound::cli
