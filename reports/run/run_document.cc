#include "reports/run/run_document.h"

#include <absl/strings/str_join.h>
#include <absl/strings/str_split.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/clock.h"
#include "base/display_text.h"
#include "base/units.h"
#include "reports/gate/gate_document.h"

namespace stallhound::reports {
namespace {

using analysis::gate::CountRange;

constexpr char kUnknown[] = "not recorded";
constexpr char kReference[] = "reference";
constexpr char kOptimized[] = "optimized";
constexpr size_t kShownUuidLength = 8;
constexpr size_t kShownCommitLength = 12;

// The parts of "layer/variant/dtype/shape/pass".
struct CaseName {
  std::string layer;
  std::string variant;
  std::string rest;
};

CaseName ParseName(const std::string& name) {
  const std::vector<std::string> parts = absl::StrSplit(name, absl::MaxSplits('/', 2));
  if (parts.size() < 3) return {parts[0], "", name};
  return {parts[0], parts[1], parts[2]};
}

std::string TimeText(const std::optional<double>& time_ns) {
  return time_ns ? FormatRoundedDuration(*time_ns) : kUnknown;
}

std::string RangeText(const std::optional<CountRange>& range) {
  if (!range) return kUnknown;
  return range->is_stable() ? FormatCount(range->min)
                            : fmt::format("{} to {}", FormatCount(range->min), FormatCount(range->max));
}

std::string RatioText(const RunBenchmark* reference, const RunBenchmark* other) {
  if (reference == nullptr || other == nullptr || !reference->time_ns || !other->time_ns) return kNone;
  return *other->time_ns > 0 ? fmt::format("{:.2f}x", *reference->time_ns / *other->time_ns) : kNone;
}

std::string CopyShareText(const RunBenchmark& benchmark) {
  if (!benchmark.copy_ns || !benchmark.time_ns || *benchmark.time_ns <= 0) return kNone;
  return FormatPercent(*benchmark.copy_ns / *benchmark.time_ns);
}

using Variants = std::map<std::string, const RunBenchmark*>;

// Counts are those of the optimized side, or of the only one.
std::vector<std::string> Row(const std::string& title, const RunBenchmark* reference, const RunBenchmark* other) {
  const RunBenchmark& counted = other != nullptr ? *other : *reference;
  return {title,
          reference != nullptr ? TimeText(reference->time_ns) : kNone,
          other != nullptr ? TimeText(other->time_ns) : kNone,
          RatioText(reference, other),
          CopyShareText(counted),
          RangeText(counted.kernel_count),
          RangeText(counted.wait_count),
          RangeText(counted.copy_count)};
}

void AddRows(const std::string& name, const Variants& variants, Table& table) {
  const auto find = [&](const char* variant) {
    const auto found = variants.find(variant);
    return found == variants.end() ? nullptr : found->second;
  };
  const RunBenchmark* reference = find(kReference);
  const RunBenchmark* optimized = find(kOptimized);
  if (reference != nullptr || optimized != nullptr) table.rows.push_back(Row(name, reference, optimized));
  for (const auto& [variant, benchmark] : variants) {
    if (variant == kReference || variant == kOptimized) continue;
    const std::string title = variant.empty() ? name : fmt::format("{} ({})", name, variant);
    table.rows.push_back(Row(title, reference, benchmark));
  }
}

// Layers and cases in the order of their names.
void AddLayers(const RunReport& report, std::vector<Section>& sections) {
  std::map<std::string, std::map<std::string, Variants>> layers;
  for (const RunBenchmark& benchmark : report.benchmarks) {
    if (benchmark.outcome != "measured") continue;
    const CaseName name = ParseName(benchmark.name);
    layers[name.layer][name.rest][name.variant] = &benchmark;
  }
  for (const auto& [layer, cases] : layers) {
    Section section{layer, {}, {}};
    section.table.columns = {{"case", ColumnKind::kName}};
    for (const char* title : {kReference, kOptimized, "speed-up", "of a copy's speed", "kernels", "waits", "copies"}) {
      section.table.columns.push_back({title, ColumnKind::kNumber});
    }
    for (const auto& [name, variants] : cases) AddRows(name, variants, section.table);
    sections.push_back(std::move(section));
  }
}

void AddFailures(const RunReport& report, std::vector<Section>& sections) {
  Section section{"Failed and skipped", {}, {}};
  section.table.columns = {{"case", ColumnKind::kName}, {"outcome"}, {"why", ColumnKind::kText}};
  for (const RunBenchmark& benchmark : report.benchmarks) {
    if (benchmark.outcome == "measured") continue;
    section.table.rows.push_back(
        {benchmark.name, benchmark.outcome, benchmark.message ? DisplayableMessage(*benchmark.message) : kUnknown});
  }
  if (!section.table.rows.empty()) sections.push_back(std::move(section));
}

std::string Place(const RunSite& site) {
  if (!site.file) return site.native_symbol.value_or("unknown");
  return site.line ? fmt::format("{}:{}", *site.file, *site.line) : *site.file;
}

// Null: unknown.
std::optional<int64_t> EachNs(const std::optional<int64_t>& total_ns, const std::optional<int64_t>& iteration_count) {
  if (!total_ns || !iteration_count || *iteration_count <= 0) return std::nullopt;
  return *total_ns / *iteration_count;
}

std::string EachText(const std::optional<int64_t>& total_ns, const std::optional<int64_t>& iteration_count) {
  const std::optional<int64_t> each_ns = EachNs(total_ns, iteration_count);
  return each_ns ? FormatDuration(*each_ns) : kUnknown;
}

void AddSites(const RunReport& report, std::vector<Section>& sections) {
  struct Entry {
    const RunBenchmark* benchmark;
    const RunSite* site;
  };
  std::vector<Entry> entries;
  for (const RunBenchmark& benchmark : report.benchmarks) {
    for (const RunSite& site : benchmark.sites) entries.push_back({&benchmark, &site});
  }
  if (entries.empty()) return;
  std::stable_sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return EachNs(a.site->recoverable_ns, a.benchmark->iteration_count) >
           EachNs(b.site->recoverable_ns, b.benchmark->iteration_count);
  });
  Section section{"Sync sites", {"Times are per iteration; the costliest first."}, {}};
  section.table.columns = {{"case", ColumnKind::kName},       {"kind", ColumnKind::kName},
                           {"where", ColumnKind::kName},      {"API", ColumnKind::kName},
                           {"count", ColumnKind::kNumber},    {"blocked", ColumnKind::kNumber},
                           {"GPU idle", ColumnKind::kNumber}, {"recoverable", ColumnKind::kNumber}};
  for (const auto& [benchmark, site] : entries) {
    const std::optional<int64_t>& iteration_count = benchmark->iteration_count;
    const std::string count =
        iteration_count.value_or(0) > 0
            ? fmt::format("{:.3g}", static_cast<double>(site->count) / static_cast<double>(*iteration_count))
            : kUnknown;
    section.table.rows.push_back({benchmark->name, site->kind, Place(*site), site->api.value_or(kNone), count,
                                  EachText(site->blocked_ns, iteration_count), EachText(site->idle_ns, iteration_count),
                                  EachText(site->recoverable_ns, iteration_count)});
  }
  sections.push_back(std::move(section));
}

std::string OutcomesSentence(const RunReport& report) {
  std::map<std::string, int64_t> counts;
  for (const RunBenchmark& benchmark : report.benchmarks) ++counts[benchmark.outcome];
  std::vector<std::string> texts;
  for (const auto& [outcome, count] : counts) texts.push_back(fmt::format("{} {}", FormatCount(count), outcome));
  return fmt::format("Cases: {}. Status: {}.{}", texts.empty() ? "none" : absl::StrJoin(texts, ", "), report.status,
                     report.duration_ns ? fmt::format(" Took {}.", FormatDuration(*report.duration_ns)) : "");
}

}  // namespace

Document RunDocument(const RunReport& report) {
  Document document;
  document.title = fmt::format("Run {}", report.run.uuid.substr(0, kShownUuidLength));
  document.summary = {RunSentence("Run", report.run), OutcomesSentence(report)};
  if (report.gate) {
    for (const GateRun& baseline : report.gate->baselines) {
      document.summary.push_back(RunSentence("Judged against", baseline));
    }
    document.summary.push_back(fmt::format("Verdicts: {}.", AnswersSentence(*report.gate)));
    document.sections = GateSections(*report.gate);
  } else {
    document.summary.push_back("Not judged: stallhound gate compares it with the baseline.");
  }
  AddFailures(report, document.sections);
  AddLayers(report, document.sections);
  AddSites(report, document.sections);
  Section environment{"Environment", {}, {}};
  environment.table.columns = {{"name"}, {"value", ColumnKind::kName}};
  for (const auto& [name, value] : report.environment) {
    environment.table.rows.push_back({name, value.value_or(kUnknown)});
  }
  document.sections.push_back(std::move(environment));
  return DisplayableDocument(std::move(document));
}

Document RunsDocument(const std::vector<RunSummary>& runs) {
  Document document;
  document.title = "Runs";
  Section section{"Newest first", {}, {}};
  section.table.columns = {{"run", ColumnKind::kName},
                           {"started (UTC)"},
                           {"commit", ColumnKind::kName},
                           {"branch", ColumnKind::kName},
                           {"machine", ColumnKind::kName},
                           {"device", ColumnKind::kName},
                           {"cases", ColumnKind::kNumber},
                           {"status"},
                           {"gate"}};
  for (const RunSummary& summary : runs) {
    const GateRun& run = summary.run;
    section.table.rows.push_back({run.uuid.substr(0, kShownUuidLength), FormatUtc(run.started_at_ns),
                                  run.commit ? run.commit->substr(0, kShownCommitLength) : kUnknown,
                                  run.branch.value_or(kUnknown), run.machine, run.device.value_or(kUnknown),
                                  FormatCount(summary.case_count), summary.status,
                                  summary.answer.value_or("not judged")});
  }
  document.sections.push_back(std::move(section));
  return DisplayableDocument(std::move(document));
}

}  // namespace stallhound::reports
