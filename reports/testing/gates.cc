#include "reports/testing/gates.h"

#include "reports/testing/reports.h"

namespace stallhound::reports {
namespace {

using analysis::gate::Answer;
using analysis::gate::CountRange;
using analysis::gate::SiteCount;

constexpr char kForward[] = "layer_norm/optimized/fp32/200000x128/forward";
constexpr char kBackward[] = "layer_norm/optimized/bf16/200000x128/backward";
constexpr int64_t kStartNs = 1'767'225'600'000'000'000;

GateVerdict CountVerdict(const char* metric, Answer answer, const char* reason, const char* change) {
  GateVerdict verdict;
  verdict.suite = "bench";
  verdict.benchmark = kForward;
  verdict.metric = metric;
  verdict.answer = answer;
  verdict.reason = reason;
  verdict.change = change;
  return verdict;
}

GateVerdict TimeVerdict(Answer answer, const char* reason, double effect_ratio) {
  GateVerdict verdict = CountVerdict("gpu_time_ns", answer, reason, "102 us -> 112 us");
  verdict.benchmark = kBackward;
  verdict.effect_ratio = effect_ratio;
  verdict.interval_low_ratio = effect_ratio - 0.004;
  verdict.interval_high_ratio = effect_ratio + 0.004;
  verdict.p_value = 3.3e-7;
  verdict.q_value = 6.6e-7;
  verdict.smallest_p_value = 1.7e-9;
  verdict.detectable_effect_ratio = 0.0123;
  verdict.baseline_round_count = 16;
  verdict.run_round_count = 16;
  return verdict;
}

SiteCount Site() {
  return {"wait",       "cudaStreamSynchronize", "kernels/layer_norm/layer_norm_optimized.cc", "Forward", 41,
          std::nullopt, CountRange{1, 1}};
}

}  // namespace

GateReport PassedGate() {
  GateReport report;
  report.run = {"bbbb0000-0000-4000-8000-000000000002",
                kStartNs + 86'400'000'000'000,
                "0123456789abcdef0123456789abcdef01234567",
                "main",
                "bench-1",
                "NVIDIA H200"};
  report.baselines = {
      {"aaaa0000-0000-4000-8000-000000000001", kStartNs, std::nullopt, std::nullopt, "bench-1", std::nullopt}};
  report.verdicts = {CountVerdict("kernel", Answer::kPass, "counts-equal", "1")};
  report.exit_code = 0;
  return report;
}

GateReport OrdinaryGate() {
  GateReport report = PassedGate();
  GateVerdict wait = CountVerdict("wait", Answer::kRegressed, "count-rose", "1 -> 2");
  wait.effect_ratio = 2;
  GateVerdict unjudged = CountVerdict("memset", Answer::kInconclusive, "data-lost", "1");
  GateVerdict unjudged_too = unjudged;
  unjudged_too.benchmark = kBackward;
  GateVerdict failed = CountVerdict("outcome", Answer::kRegressed, "case-failed", "oracle: error 2.5 of 1");
  failed.benchmark = "radius_search/optimized/fp32/100000/forward";
  report.verdicts = {wait,
                     CountVerdict("kernel", Answer::kPass, "counts-equal", "1"),
                     CountVerdict("loader", Answer::kSuspect, "became-unstable", "0 -> 0 to 1"),
                     unjudged,
                     TimeVerdict(Answer::kRegressed, "confirmed-slower", 1.1),
                     TimeVerdict(Answer::kImproved, "confirmed-faster", 0.9),
                     unjudged_too,
                     failed};
  GateDifference difference;
  difference.benchmark = kForward;
  difference.sites.risen.push_back({std::nullopt, Site()});
  SiteCount before = Site();
  before.per_iteration = {3, 4};
  before.file = std::nullopt;
  before.function = std::nullopt;
  before.line = std::nullopt;
  before.native_symbol = "at::native::item";
  before.operator_name = "aten::_local_scalar_dense";
  SiteCount after = before;
  after.per_iteration = {1, 1};
  difference.sites.fallen.push_back({before, after});
  difference.kernels.risen.push_back({"vectorized_layer_norm<float, 4>", std::nullopt, CountRange{1, 1}});
  difference.kernels.fallen.push_back({"layer_norm_forward<float>", CountRange{1, 2}, std::nullopt});
  report.differences.push_back(std::move(difference));
  report.notes = {"Not in the baseline, so not judged: new_layer/optimized/fp32/8/forward."};
  report.exit_code = 1;
  return report;
}

GateReport HostileGate() {
  GateReport report = OrdinaryGate();
  const std::vector<std::string> texts = HostileTexts();
  for (size_t i = 0; i < texts.size(); ++i) {
    const std::string& text = texts[i];
    GateVerdict verdict = report.verdicts[i % report.verdicts.size()];
    verdict.suite = verdict.benchmark = verdict.metric = verdict.reason = verdict.change = text;
    GateDifference difference = report.differences.front();
    difference.benchmark = text;
    difference.kernels.risen.front().name = text;
    SiteCount& site = *difference.sites.risen.front().candidate;
    site.kind = site.api = text;
    site.file = site.function = site.operator_name = text;
    difference.sites.fallen.front().candidate->native_symbol = text;
    report.verdicts.push_back(std::move(verdict));
    report.differences.push_back(std::move(difference));
    report.notes.push_back(text);
    report.baselines.push_back({text, 0, text, text, text, text});
  }
  return report;
}

}  // namespace stallhound::reports
