#include "reports/junit/hunt_junit.h"

#include <fmt/format.h>

#include <algorithm>

#include "reports/document/budget_section.h"
#include "reports/document/place.h"
#include "reports/junit/xml_text.h"

namespace stallhound::reports {
namespace {

using analysis::BudgetFinding;
using analysis::BudgetOutcome;

std::string Lines(const BudgetFinding& finding) {
  std::string lines;
  for (const analysis::BudgetSite& site : finding.sites) {
    lines += fmt::format("\n{}  {}  {}", XmlText(PlaceText(site)), SiteKindName(site.kind),
                         XmlText(site.apis.empty() ? "" : site.apis.front()));
  }
  return lines;
}

std::string TestCase(const BudgetFinding& finding) {
  const std::string range = finding.range ? XmlText("range " + *finding.range) : "recording";
  std::string out = fmt::format("    <testcase classname=\"stallhound.budget.{}\" name=\"{} ({})\"", range,
                                BudgetQuantityName(finding.quantity), XmlText(LimitText(finding)));
  const std::string message = XmlText(FindingSentence(finding));
  switch (finding.outcome) {
    case BudgetOutcome::kFine:
      return out + "/>\n";
    case BudgetOutcome::kExceeded:
      return out +
             fmt::format(">\n      <failure type=\"exceeded\" message=\"{0}\">{0}{1}</failure>\n    </testcase>\n",
                         message, Lines(finding));
    case BudgetOutcome::kInconclusive:
      return out + fmt::format(">\n      <skipped message=\"{}\"/>\n    </testcase>\n", message);
  }
  return out;
}

}  // namespace

std::string HuntJunit(const analysis::HuntReport& report) {
  const analysis::BudgetVerdict verdict = report.budget.value_or(analysis::BudgetVerdict());
  const auto count = [&](BudgetOutcome outcome) {
    return std::count_if(verdict.findings.begin(), verdict.findings.end(),
                         [&](const BudgetFinding& finding) { return finding.outcome == outcome; });
  };
  const std::string counts =
      fmt::format("tests=\"{}\" failures=\"{}\" skipped=\"{}\" errors=\"0\"", verdict.findings.size(),
                  count(BudgetOutcome::kExceeded), count(BudgetOutcome::kInconclusive));
  std::string out = fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites {0}>\n  <testsuite name=\"stallhound budget\" {0}>\n",
      counts);
  for (const BudgetFinding& finding : verdict.findings) out += TestCase(finding);
  if (!verdict.notes.empty()) {
    out += "    <system-out>";
    for (const std::string& note : verdict.notes) out += XmlText(note) + "\n";
    out += "</system-out>\n";
  }
  return out + "  </testsuite>\n</testsuites>\n";
}

}  // namespace stallhound::reports
