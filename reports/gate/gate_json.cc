#include "reports/gate/gate_json.h"

#include "reports/gate/gate_output.h"
#include "reports/text/json_list.h"

namespace stallhound::reports {
namespace {

using analysis::gate::Answer;
using analysis::gate::CountRange;
using analysis::gate::KernelChange;
using analysis::gate::SiteChange;
using analysis::gate::SiteCount;

constexpr int kJsonVersion = 1;

void WriteKernel(JsonWriter& json, const KernelChange& change) {
  json.BeginObject();
  json.Field("name", change.name);
  RangeField(json, "baseline", change.baseline);
  RangeField(json, "run", change.candidate);
  json.EndObject();
}

void SiteField(JsonWriter& json, std::string_view key, const std::optional<SiteCount>& site) {
  json.Key(key);
  if (!site) return json.Null();
  json.BeginObject();
  json.Field("kind", site->kind);
  json.Field("api", site->api);
  json.Field("file", site->file);
  json.Field("line", site->line);
  json.Field("function", site->function);
  json.Field("native_symbol", site->native_symbol);
  json.Field("operator", site->operator_name);
  RangeField(json, "per_iteration", site->per_iteration);
  json.EndObject();
}

void WriteSite(JsonWriter& json, const SiteChange& change) {
  json.BeginObject();
  SiteField(json, "baseline", change.baseline);
  SiteField(json, "run", change.candidate);
  json.EndObject();
}

void WriteDifference(JsonWriter& json, const GateDifference& difference) {
  json.BeginObject();
  json.Field("benchmark", difference.benchmark);
  const auto kernel = [&](const KernelChange& change) { WriteKernel(json, change); };
  const auto site = [&](const SiteChange& change) { WriteSite(json, change); };
  List(json, "kernels_risen", difference.kernels.risen, kernel);
  List(json, "kernels_fallen", difference.kernels.fallen, kernel);
  List(json, "sites_risen", difference.sites.risen, site);
  List(json, "sites_fallen", difference.sites.fallen, site);
  json.EndObject();
}

}  // namespace

void RangeField(JsonWriter& json, std::string_view key, const std::optional<CountRange>& range) {
  json.Key(key);
  if (!range) return json.Null();
  json.BeginObject();
  json.Field("min", range->min);
  json.Field("max", range->max);
  json.EndObject();
}

void WriteGateRun(JsonWriter& json, const GateRun& run) {
  json.BeginObject();
  json.Field("uuid", run.uuid);
  json.Field("started_realtime_ns", run.started_at_ns);
  json.Field("commit", run.commit);
  json.Field("branch", run.branch);
  json.Field("machine", run.machine);
  json.Field("device", run.device);
  json.EndObject();
}

void WriteVerdicts(JsonWriter& json, std::string_view key, const std::vector<GateVerdict>& verdicts) {
  List(json, key, verdicts, [&](const GateVerdict& verdict) {
    json.BeginObject();
    json.Field("suite", verdict.suite);
    json.Field("benchmark", verdict.benchmark);
    json.Field("metric", verdict.metric);
    json.Field("answer", AnswerName(verdict.answer));
    json.Field("reason", verdict.reason);
    json.Field("change", verdict.change);
    json.Field("effect_ratio", verdict.effect_ratio);
    json.Field("interval_low_ratio", verdict.interval_low_ratio);
    json.Field("interval_high_ratio", verdict.interval_high_ratio);
    json.Field("p_value", verdict.p_value);
    json.Field("q_value", verdict.q_value);
    json.Field("smallest_p_value", verdict.smallest_p_value);
    json.Field("detectable_effect_ratio", verdict.detectable_effect_ratio);
    json.Field("baseline_round_count", verdict.baseline_round_count);
    json.Field("run_round_count", verdict.run_round_count);
    json.EndObject();
  });
}

std::string GateJson(const GateReport& report) {
  std::string text;
  JsonWriter json(&text, 2);
  json.BeginObject();
  json.Field("version", kJsonVersion);
  json.Field("answer", AnswerName(OverallAnswer(report)));
  json.Field("exit_code", report.exit_code);
  json.Key("verdict_counts");
  json.BeginObject();
  for (const Answer answer :
       {Answer::kPass, Answer::kRegressed, Answer::kImproved, Answer::kSuspect, Answer::kInconclusive}) {
    json.Field(AnswerName(answer), AnswerCount(report, answer));
  }
  json.EndObject();
  json.Key("run");
  WriteGateRun(json, report.run);
  List(json, "baselines", report.baselines, [&](const GateRun& run) { WriteGateRun(json, run); });
  WriteVerdicts(json, "verdicts", report.verdicts);
  List(json, "differences", report.differences,
       [&](const GateDifference& difference) { WriteDifference(json, difference); });
  List(json, "notes", report.notes, [&](const std::string& note) { json.String(note); });
  json.EndObject();
  json.Finish().IgnoreError();  // appending to a string cannot fail
  return text;
}

}  // namespace stallhound::reports
