#include "reports/junit/hunt_junit.h"

#include <absl/strings/str_replace.h>
#include <fmt/format.h>

#include <algorithm>

#include "base/display_text.h"
#include "reports/document/budget_section.h"
#include "reports/document/place.h"

namespace stallhound::reports {
namespace {

using analysis::BudgetFinding;
using analysis::BudgetOutcome;

// Displayable text has no character that XML forbids.
std::string Escaped(const std::string& text) {
  return absl::StrReplaceAll(Displayable(text),
                             {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}, {"'", "&apos;"}});
}

std::string Lines(const BudgetFinding& finding) {
  std::string lines;
  for (const analysis::BudgetSite& site : finding.sites) {
    lines += fmt::format("\n{}  {}  {}", Escaped(PlaceText(site.innermost_user, site.native_symbol)),
                         SiteKindName(site.kind), Escaped(site.apis.empty() ? "" : site.apis.front()));
  }
  return lines;
}

std::string TestCase(const BudgetFinding& finding) {
  const std::string range = finding.range ? Escaped("range " + *finding.range) : "recording";
  std::string out = fmt::format("    <testcase classname=\"stallhound.budget.{}\" name=\"{} ({})\"", range,
                                BudgetQuantityName(finding.quantity), Escaped(LimitText(finding)));
  const std::string message = Escaped(FindingSentence(finding));
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
    for (const std::string& note : verdict.notes) out += Escaped(note) + "\n";
    out += "</system-out>\n";
  }
  return out + "  </testsuite>\n</testsuites>\n";
}

}  // namespace stallhound::reports
