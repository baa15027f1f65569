#include "reports/document/budget_section.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/units.h"
#include "reports/document/place.h"

namespace stallhound::reports {
namespace {

using analysis::BudgetFinding;
using analysis::BudgetOutcome;
using analysis::BudgetQuantity;

std::string QuantityText(BudgetQuantity quantity, double value) {
  if (quantity == BudgetQuantity::kRecoverableRatio) return fmt::format("{:.4g}%", value * 100);
  if (quantity == BudgetQuantity::kBytes) return FormatBytes(static_cast<uint64_t>(value));
  return FormatCount(static_cast<int64_t>(value));
}

std::string RangeText(const BudgetFinding& finding) {
  return finding.range ? "range " + *finding.range : "the recording";
}

std::string SitesText(const BudgetFinding& finding) {
  constexpr size_t kMostSites = 10;  // more help nobody who has to find the first
  std::vector<std::string> texts;
  for (const analysis::BudgetSite& site : finding.sites) {
    if (texts.size() == kMostSites) {
      texts.push_back(fmt::format("{} more", finding.sites.size() - kMostSites));
      break;
    }
    const bool has_cost = finding.quantity == BudgetQuantity::kRecoverableRatio && site.recoverable_ns;
    texts.push_back(fmt::format("{} ({})", PlaceText(site),
                                has_cost ? FormatDuration(*site.recoverable_ns) : FormatCount(site.count)));
  }
  return texts.empty() ? "no line is known" : fmt::format("{}", fmt::join(texts, ", "));
}

}  // namespace

std::string LimitText(const BudgetFinding& finding) {
  return "at most " + QuantityText(finding.quantity, finding.limit);
}

std::string FoundText(const BudgetFinding& finding) {
  return finding.found ? QuantityText(finding.quantity, *finding.found) : "unknown";
}

std::string FindingSentence(const BudgetFinding& finding) {
  std::string text = fmt::format("{} in {}: {} found, {}", BudgetQuantityName(finding.quantity), RangeText(finding),
                                 FoundText(finding), LimitText(finding));
  if (finding.outcome == BudgetOutcome::kInconclusive) return text + "; inconclusive: " + finding.reason;
  if (finding.outcome == BudgetOutcome::kFine) return text;
  if (finding.quantity != BudgetQuantity::kRecoverableRatio) {
    text += fmt::format(", in {} of {} {}", FormatCount(finding.exceeded_count), FormatCount(finding.occurrence_count),
                        finding.range ? "occurrences" : "processes");
  }
  return text + ": " + SitesText(finding);
}

std::string BudgetSentence(const analysis::BudgetVerdict& verdict) {
  const auto count = std::count_if(verdict.findings.begin(), verdict.findings.end(),
                                   [&](const BudgetFinding& finding) { return finding.outcome == verdict.outcome; });
  return fmt::format("Budget {}: {} of {} limit{}.", BudgetOutcomeName(verdict.outcome), count, verdict.findings.size(),
                     verdict.findings.size() == 1 ? "" : "s");
}

Section BudgetSection(const analysis::BudgetVerdict& verdict) {
  Section section{"Budget", {}, {}};
  section.table.columns = {{"limit"},
                           {"range", ColumnKind::kName},
                           {"at most", ColumnKind::kNumber},
                           {"found", ColumnKind::kNumber},
                           {"verdict"}};
  for (const BudgetFinding& finding : verdict.findings) {
    section.table.rows.push_back({BudgetQuantityName(finding.quantity), finding.range.value_or(kNone),
                                  QuantityText(finding.quantity, finding.limit), FoundText(finding),
                                  BudgetOutcomeName(finding.outcome)});
    if (finding.outcome != BudgetOutcome::kFine) section.sentences.push_back(FindingSentence(finding) + ".");
  }
  for (const std::string& note : verdict.notes) section.sentences.push_back("Note: " + note + ".");
  return section;
}

}  // namespace stallhound::reports
