#include "reports/gate/gate_output.h"

#include <fmt/format.h>

#include "reports/gate/gate_document.h"
#include "reports/junit/xml_text.h"
#include "reports/text/document_text.h"

namespace stallhound::reports {
namespace {

using analysis::gate::Answer;

std::string Lines(const GateReport& report, const std::string& benchmark) {
  std::string lines;
  for (const GateDifference& difference : report.differences) {
    if (difference.benchmark != benchmark) continue;
    for (const auto& change : difference.sites.risen) {
      if (!change.candidate) continue;
      const analysis::gate::SiteCount& site = *change.candidate;
      lines += fmt::format("\n{}  {}  {}", XmlText(SitePlace(site)), XmlText(site.kind), XmlText(site.api));
    }
    for (const auto& change : difference.kernels.risen) lines += "\n" + XmlText(change.name) + "  kernel";
  }
  return lines;
}

std::string TestCase(const GateReport& report, const GateVerdict& verdict) {
  const std::string suite = XmlText(verdict.suite);
  std::string out = fmt::format("    <testcase classname=\"stallhound.gate.{}\" name=\"{} ({})\"", suite,
                                XmlText(verdict.benchmark), XmlText(verdict.metric));
  std::string message = fmt::format("{}: {} of {}", verdict.reason, verdict.metric, verdict.benchmark);
  if (!verdict.change.empty()) message += ": " + verdict.change;
  const std::string text = XmlText(message);
  switch (verdict.answer) {
    case Answer::kPass:
    case Answer::kImproved:
      return out + "/>\n";
    case Answer::kRegressed:
      return out + fmt::format(
                       ">\n      <failure type=\"regressed\" message=\"{0}\">{0}{1}</failure>\n    "
                       "</testcase>\n",
                       text, Lines(report, verdict.benchmark));
    case Answer::kSuspect:
    case Answer::kInconclusive:
      break;
  }
  return out +
         fmt::format(">\n      <skipped message=\"{}: {}\"/>\n    </testcase>\n", AnswerName(verdict.answer), text);
}

}  // namespace

std::string GateTerminal(const GateReport& report, const TerminalOptions& options) {
  return DocumentTerminal(GateDocument(report), options);
}

std::string GateMarkdown(const GateReport& report) { return DocumentMarkdown(GateDocument(report)); }

std::string GateJunit(const GateReport& report) {
  const std::string counts =
      fmt::format("tests=\"{}\" failures=\"{}\" skipped=\"{}\" errors=\"0\"", report.verdicts.size(),
                  AnswerCount(report, Answer::kRegressed),
                  AnswerCount(report, Answer::kSuspect) + AnswerCount(report, Answer::kInconclusive));
  std::string out = fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites {0}>\n  <testsuite name=\"stallhound gate\" {0}>\n",
      counts);
  for (const GateVerdict& verdict : report.verdicts) out += TestCase(report, verdict);
  if (!report.notes.empty()) {
    out += "    <system-out>";
    for (const std::string& note : report.notes) out += XmlText(note) + "\n";
    out += "</system-out>\n";
  }
  return out + "  </testsuite>\n</testsuites>\n";
}

}  // namespace stallhound::reports
