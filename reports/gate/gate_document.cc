#include "reports/gate/gate_document.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/clock.h"
#include "base/display_text.h"
#include "base/units.h"

namespace stallhound::reports {
namespace {

using analysis::gate::Answer;
using analysis::gate::CountRange;
using analysis::gate::Reason;

constexpr char kOutcomeMetric[] = "outcome";           // as cli/gate names it
constexpr char kSameProgramReason[] = "same-program";  // the same
constexpr Reason kUnjudgedTimes[] = {Reason::kTooFewRounds, Reason::kClocks, Reason::kClockNotRecorded,
                                     Reason::kEnvironmentDiffers, Reason::kClockTooCoarse};
constexpr std::string_view kTimeMetricEnd = "_ns";  // of "gpu_time_ns"; kinds of events have none
constexpr size_t kMostChangedRows = 8;              // of a reason and a kind
constexpr size_t kShownUuidLength = 8;
constexpr size_t kShownCommitLength = 12;

bool IsOfCounts(const GateVerdict& verdict) {
  return verdict.metric != kOutcomeMetric && !verdict.metric.ends_with(kTimeMetricEnd);
}

std::string Percent(double ratio) { return (ratio > 1 ? "+" : "") + FormatPercent(ratio - 1); }

std::string EffectText(const GateVerdict& verdict) {
  return verdict.effect_ratio ? Percent(*verdict.effect_ratio) : kNone;
}

std::string IntervalText(const GateVerdict& verdict) {
  if (!verdict.interval_low_ratio || !verdict.interval_high_ratio) return kNone;
  return fmt::format("{} to {}", Percent(*verdict.interval_low_ratio), Percent(*verdict.interval_high_ratio));
}

std::string ProbabilityText(const std::optional<double>& p) { return p ? fmt::format("{:.2g}", *p) : kNone; }

std::string RoundsText(const GateVerdict& verdict) {
  if (!verdict.baseline_round_count || !verdict.run_round_count) return kNone;
  return fmt::format("{} + {}", *verdict.baseline_round_count, *verdict.run_round_count);
}

// What changed, in words that may be a program's error.
std::string ChangeText(const GateVerdict& verdict) {
  return verdict.change.empty() ? kNone : DisplayableMessage(verdict.change);
}

Table VerdictTable(const std::vector<const GateVerdict*>& verdicts) {
  const bool has_times = std::any_of(verdicts.begin(), verdicts.end(),
                                     [](const GateVerdict* verdict) { return verdict->run_round_count.has_value(); });
  Table table;
  table.columns = {{"case", ColumnKind::kName},
                   {"what", ColumnKind::kName},
                   {"before, after", ColumnKind::kText},
                   {"change", ColumnKind::kNumber},
                   {"reason", ColumnKind::kText}};
  if (has_times) {
    for (const char* title : {"95% interval", "p", "rounds", "seen from"}) {
      table.columns.push_back({title, ColumnKind::kNumber});
    }
  }
  for (const GateVerdict* verdict : verdicts) {
    // A case that gave no numbers has a message in place of what changed: that is why, not a before and after.
    const bool is_outcome = verdict->metric == kOutcomeMetric && !verdict->change.empty();
    std::vector<std::string> row = {
        verdict->benchmark, verdict->metric, is_outcome ? kNone : ChangeText(*verdict), EffectText(*verdict),
        is_outcome ? fmt::format("{}: {}", verdict->reason, ChangeText(*verdict)) : verdict->reason};
    if (has_times) {
      const std::optional<double>& seen = verdict->detectable_effect_ratio;
      row.insert(row.end(), {IntervalText(*verdict), ProbabilityText(verdict->p_value), RoundsText(*verdict),
                             seen ? FormatPercent(*seen) : kNone});
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

void AddVerdicts(const GateReport& report, Answer answer, const char* title, std::vector<Section>& sections) {
  std::vector<const GateVerdict*> verdicts;
  for (const GateVerdict& verdict : report.verdicts) {
    if (verdict.answer == answer) verdicts.push_back(&verdict);
  }
  if (!verdicts.empty()) sections.push_back({title, {}, VerdictTable(verdicts)});
}

// A count that is another now, though no verdict is possible.
bool IsChangedCount(const GateVerdict& verdict) {
  return IsOfCounts(verdict) && verdict.reason != ReasonName(Reason::kNotRecorded) &&
         verdict.change.find(" -> ") != std::string::npos;
}

// Often all of a run for one reason, so a row a reason. Counts that changed come before it, in rows of their own.
void AddInconclusive(const GateReport& report, std::vector<Section>& sections) {
  struct Group {
    std::vector<const GateVerdict*> changed;
    std::set<std::string> cases;  // of the others
    const GateVerdict* first = nullptr;
  };
  std::map<std::pair<std::string, std::string>, Group> groups;
  for (const GateVerdict& verdict : report.verdicts) {
    if (verdict.answer != Answer::kInconclusive) continue;
    Group& group = groups[{verdict.reason, verdict.metric}];
    if (IsChangedCount(verdict) && group.changed.size() < kMostChangedRows) {
      group.changed.push_back(&verdict);
      continue;
    }
    if (group.first == nullptr) group.first = &verdict;
    group.cases.insert(verdict.benchmark);
  }
  if (groups.empty()) return;
  Section section{"Inconclusive", {}, {}};
  section.table.columns = {{"reason", ColumnKind::kText},
                           {"what", ColumnKind::kName},
                           {"cases", ColumnKind::kNumber},
                           {"first case", ColumnKind::kName},
                           {"there", ColumnKind::kText}};
  const auto add = [&](const GateVerdict& verdict, size_t case_count) {
    section.table.rows.push_back({verdict.reason, verdict.metric, FormatCount(static_cast<int64_t>(case_count)),
                                  verdict.benchmark, ChangeText(verdict)});
  };
  for (const auto& [key, group] : groups) {
    for (const GateVerdict* verdict : group.changed) add(*verdict, 1);
  }
  for (const auto& [key, group] : groups) {
    if (group.first != nullptr) add(*group.first, group.cases.size());
  }
  sections.push_back(std::move(section));
}

// Cases of which no count could be compared, for want of those of a side.
int64_t UncountedCaseCount(const GateReport& report) {
  std::set<std::pair<std::string, std::string>> uncounted, counted;
  for (const GateVerdict& verdict : report.verdicts) {
    if (!IsOfCounts(verdict)) continue;
    (verdict.reason == ReasonName(analysis::gate::Reason::kNotRecorded) ? uncounted : counted)
        .insert({verdict.suite, verdict.benchmark});
  }
  return std::count_if(uncounted.begin(), uncounted.end(), [&](const auto& key) { return !counted.contains(key); });
}

// Whether its rounds could say anything: what they would have shown is else no answer. A time of one program keeps the
// code of the screen in its change.
bool IsTimeJudged(const GateVerdict& verdict) {
  const std::string& code = verdict.reason == kSameProgramReason ? verdict.change : verdict.reason;
  return std::none_of(std::begin(kUnjudgedTimes), std::end(kUnjudgedTimes),
                      [&](Reason reason) { return code.substr(0, code.find(':')) == ReasonName(reason); });
}

std::string RangeText(const std::optional<CountRange>& range) {
  const CountRange counts = range.value_or(CountRange{});
  return counts.is_stable() ? FormatCount(counts.min)
                            : fmt::format("{} to {}", FormatCount(counts.min), FormatCount(counts.max));
}

std::optional<CountRange> RangeOf(const std::optional<analysis::gate::SiteCount>& site) {
  return site ? std::optional(site->per_iteration) : std::nullopt;
}

std::string ChangeWord(bool was_there, bool is_there, bool has_risen) {
  if (!was_there) return "new";
  if (!is_there) return "gone";
  return has_risen ? "more" : "fewer";
}

void AddDifferences(const GateReport& report, std::vector<Section>& sections) {
  Section section{"Kernels and lines that changed", {"Counts are per iteration."}, {}};
  section.table.columns = {{"case", ColumnKind::kName}, {"change", ColumnKind::kText},
                           {"what", ColumnKind::kName}, {"in", ColumnKind::kName},
                           {"API", ColumnKind::kName},  {"baseline", ColumnKind::kNumber},
                           {"run", ColumnKind::kNumber}};
  for (const GateDifference& difference : report.differences) {
    const auto add_site = [&](const analysis::gate::SiteChange& change, bool has_risen) {
      const analysis::gate::SiteCount& site = change.candidate ? *change.candidate : *change.baseline;
      const std::string word = ChangeWord(change.baseline.has_value(), change.candidate.has_value(), has_risen);
      section.table.rows.push_back({difference.benchmark, fmt::format("{} {}", word, site.kind), SitePlace(site),
                                    site.function.value_or(site.operator_name.value_or(kNone)),
                                    site.api.empty() ? kNone : site.api, RangeText(RangeOf(change.baseline)),
                                    RangeText(RangeOf(change.candidate))});
    };
    const auto add_kernel = [&](const analysis::gate::KernelChange& change, bool has_risen) {
      const std::string word = ChangeWord(change.baseline.has_value(), change.candidate.has_value(), has_risen);
      section.table.rows.push_back({difference.benchmark, word + " kernel", change.name, kNone, kNone,
                                    RangeText(change.baseline), RangeText(change.candidate)});
    };
    for (const auto& change : difference.sites.risen) add_site(change, true);
    for (const auto& change : difference.kernels.risen) add_kernel(change, true);
    for (const auto& change : difference.sites.fallen) add_site(change, false);
    for (const auto& change : difference.kernels.fallen) add_kernel(change, false);
  }
  if (!section.table.rows.empty()) sections.push_back(std::move(section));
}

}  // namespace

Answer OverallAnswer(const GateReport& report) {
  std::vector<Answer> answers;
  for (const GateVerdict& verdict : report.verdicts) answers.push_back(verdict.answer);
  if (report.is_interrupted) answers.push_back(Answer::kInconclusive);
  return analysis::gate::Overall(answers);
}

int64_t AnswerCount(const GateReport& report, Answer answer) {
  return std::count_if(report.verdicts.begin(), report.verdicts.end(),
                       [&](const GateVerdict& verdict) { return verdict.answer == answer; });
}

std::string SitePlace(const analysis::gate::SiteCount& site) {
  if (!site.file) return site.native_symbol.value_or("unknown");
  return site.line ? fmt::format("{}:{}", *site.file, *site.line) : *site.file;
}

std::string AnswersSentence(const GateReport& report) {
  std::string text;
  for (const Answer answer :
       {Answer::kRegressed, Answer::kSuspect, Answer::kImproved, Answer::kInconclusive, Answer::kPass}) {
    const int64_t count = AnswerCount(report, answer);
    if (count == 0) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", FormatCount(count), AnswerName(answer));
  }
  if (text.empty()) text = "no verdict";
  if (const int64_t count = UncountedCaseCount(report); count > 0) {
    text += fmt::format("; counts not recorded in {} case{}", FormatCount(count), count == 1 ? "" : "s");
  }
  return report.is_interrupted ? text + "; the run was interrupted" : text;
}

std::string SeenFromSentence(const GateReport& report) {
  std::vector<double> effects;
  int64_t blind_count = 0, unjudged_count = 0;
  for (const GateVerdict& verdict : report.verdicts) {
    if (!verdict.run_round_count) continue;
    if (!IsTimeJudged(verdict)) {
      ++unjudged_count;
    } else if (verdict.detectable_effect_ratio) {
      effects.push_back(*verdict.detectable_effect_ratio);
    } else {
      ++blind_count;
    }
  }
  if (effects.empty() && blind_count == 0) return unjudged_count > 0 ? "Times were not judged." : "";
  std::string text;
  if (!effects.empty()) {
    std::sort(effects.begin(), effects.end());
    text = fmt::format("Slow-downs are seen from {} in half of {} timed cases, from {} in the noisiest.",
                       FormatPercent(effects[effects.size() / 2]), FormatCount(static_cast<int64_t>(effects.size())),
                       FormatPercent(effects.back()));
  }
  const auto add = [&](const char* what, int64_t count) {
    if (count > 0) text += fmt::format("{}{}: {}.", text.empty() ? "" : " ", what, FormatCount(count));
  };
  add("Timed too seldom to see any", blind_count);
  add("Timed but not judged", unjudged_count);
  return text;
}

std::string RunSentence(const char* what, const GateRun& run) {
  std::string text =
      fmt::format("{} {}: {} UTC", what, run.uuid.substr(0, kShownUuidLength), FormatUtc(run.started_at_ns));
  if (run.commit) text += fmt::format(", commit {}", run.commit->substr(0, kShownCommitLength));
  if (run.branch) text += fmt::format(" of {}", *run.branch);
  return text + fmt::format(", machine {}, {}.", run.machine, run.device.value_or("device not recorded"));
}

std::vector<Section> GateSections(const GateReport& report) {
  std::vector<Section> sections;
  AddVerdicts(report, Answer::kRegressed, "Regressed", sections);
  AddDifferences(report, sections);
  AddVerdicts(report, Answer::kSuspect, "Suspect", sections);
  AddVerdicts(report, Answer::kImproved, "Improved", sections);
  AddInconclusive(report, sections);
  if (!report.notes.empty()) sections.push_back({"Notes", report.notes, {}});
  if (std::string seen = SeenFromSentence(report); !seen.empty()) {
    sections.push_back({"Sensitivity", {std::move(seen)}, {}});
  }
  return sections;
}

Document GateDocument(const GateReport& report) {
  Document document;
  document.title = fmt::format("Gate: {}", AnswerName(OverallAnswer(report)));
  std::set<std::pair<std::string, std::string>> cases;
  for (const GateVerdict& verdict : report.verdicts) cases.insert({verdict.suite, verdict.benchmark});
  document.summary.push_back(fmt::format("Verdicts: {}. Cases: {}.", AnswersSentence(report),
                                         FormatCount(static_cast<int64_t>(cases.size()))));
  document.summary.push_back(RunSentence("Run", report.run));
  for (const GateRun& baseline : report.baselines) document.summary.push_back(RunSentence("Baseline", baseline));
  document.sections = GateSections(report);
  return DisplayableDocument(std::move(document));
}

}  // namespace stallhound::reports
