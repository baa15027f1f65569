#include "reports/run/run_output.h"

#include "base/json_writer.h"
#include "reports/gate/gate_json.h"
#include "reports/html/document_html.h"
#include "reports/run/run_document.h"
#include "reports/text/document_text.h"
#include "reports/text/json_list.h"

namespace stallhound::reports {
namespace {

constexpr int kJsonVersion = 1;

void WriteSite(JsonWriter& json, const RunSite& site) {
  json.BeginObject();
  json.Field("kind", site.kind);
  json.Field("file", site.file);
  json.Field("line", site.line);
  json.Field("function", site.function);
  json.Field("native_symbol", site.native_symbol);
  json.Field("operator", site.operator_name);
  json.Field("api", site.api);
  json.Field("count", site.count);
  json.Field("blocked_ns", site.blocked_ns);
  json.Field("idle_ns", site.idle_ns);
  json.Field("recoverable_ns", site.recoverable_ns);
  json.EndObject();
}

void WriteBenchmark(JsonWriter& json, const RunBenchmark& benchmark) {
  json.BeginObject();
  json.Field("suite", benchmark.suite);
  json.Field("name", benchmark.name);
  json.Field("outcome", benchmark.outcome);
  json.Field("message", benchmark.message);
  json.Field("time_ns", benchmark.time_ns);
  List(json, "round_times_ns", benchmark.round_times_ns, [&](int64_t time_ns) { json.Int(time_ns); });
  json.Field("copy_ns", benchmark.copy_ns);
  json.Field("iteration_count", benchmark.iteration_count);
  RangeField(json, "kernel_count", benchmark.kernel_count);
  RangeField(json, "wait_count", benchmark.wait_count);
  RangeField(json, "copy_count", benchmark.copy_count);
  List(json, "sites", benchmark.sites, [&](const RunSite& site) { WriteSite(json, site); });
  json.EndObject();
}

void WriteGate(JsonWriter& json, const std::optional<GateReport>& gate) {
  json.Key("gate");
  if (!gate) return json.Null();
  json.BeginObject();
  json.Field("answer", AnswerName(OverallAnswer(*gate)));
  List(json, "baselines", gate->baselines, [&](const GateRun& baseline) { WriteGateRun(json, baseline); });
  WriteVerdicts(json, "verdicts", gate->verdicts);
  json.EndObject();
}

}  // namespace

std::string RunTerminal(const RunReport& report, const TerminalOptions& options) {
  return DocumentTerminal(RunDocument(report), options);
}

std::string RunMarkdown(const RunReport& report) { return DocumentMarkdown(RunDocument(report)); }

std::string RunHtml(const RunReport& report) { return DocumentHtml(RunDocument(report)); }

std::string RunJson(const RunReport& report) {
  std::string text;
  JsonWriter json(&text, 2);
  json.BeginObject();
  json.Field("version", kJsonVersion);
  json.Key("run");
  WriteGateRun(json, report.run);
  json.Field("status", report.status);
  json.Field("duration_ns", report.duration_ns);
  json.Field("producer", report.producer);
  json.Key("environment");
  json.BeginObject();
  for (const auto& [name, value] : report.environment) json.Field(name, value);
  json.EndObject();
  List(json, "benchmarks", report.benchmarks, [&](const RunBenchmark& benchmark) { WriteBenchmark(json, benchmark); });
  WriteGate(json, report.gate);
  json.EndObject();
  json.Finish().IgnoreError();  // appending to a string cannot fail
  return text;
}

std::string RunsTerminal(const std::vector<RunSummary>& runs, const TerminalOptions& options) {
  return DocumentTerminal(RunsDocument(runs), options);
}

std::string RunsJson(const std::vector<RunSummary>& runs) {
  std::string text;
  JsonWriter json(&text, 2);
  json.BeginArray();
  for (const RunSummary& summary : runs) {
    json.BeginObject();
    json.Key("run");
    WriteGateRun(json, summary.run);
    json.Field("status", summary.status);
    json.Field("case_count", summary.case_count);
    json.Field("answer", summary.answer);
    json.EndObject();
  }
  json.EndArray();
  json.Finish().IgnoreError();  // appending to a string cannot fail
  return text;
}

}  // namespace stallhound::reports
