#include "reports/document/document.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "analysis/hunt/catalogue/catalogue.h"
#include "base/display_text.h"
#include "base/units.h"
#include "reports/document/budget_section.h"
#include "reports/document/place.h"
#include "reports/document/ranks_section.h"

namespace stallhound::reports {
namespace {

using analysis::Cost;
using analysis::Frame;

constexpr char kUnknown[] = "not recorded";

std::string Duration(std::optional<int64_t> duration_ns) {
  return duration_ns ? FormatDuration(*duration_ns) : kUnknown;
}
std::string Count(std::optional<int64_t> count) { return count ? FormatCount(*count) : kUnknown; }
std::string Rate(double count) { return fmt::format("{:.4g}", count); }

// Idle of stalls that all have no later GPU work is unknown for another reason than a missing recording.
std::string Idle(const Cost& cost) {
  if (!cost.idle_ns && cost.no_later_work_count.value_or(0) > 0) return "no later work";
  return Duration(cost.idle_ns);
}

Table MakeTable(std::vector<Column> columns) { return {std::move(columns), {}, {}}; }

constexpr ColumnKind kNumber = ColumnKind::kNumber;
constexpr ColumnKind kName = ColumnKind::kName;

// "1 site", "2 sites"; irregular words do not occur.
std::string Counted(int64_t count, const char* word) {
  return fmt::format("{} {}{}", FormatCount(count), word, count == 1 ? "" : "s");
}

// "aten::add and 2 others", of so many different ones in all.
std::string WithOthers(const std::string& name, int64_t count) {
  return count <= 1 ? name : fmt::format("{} and {} other{}", name, FormatCount(count - 1), count == 2 ? "" : "s");
}

std::string FrameText(const Frame& frame) {
  const std::string function = frame.function.value_or("?");
  if (frame.file) return fmt::format("{}  {}", FileLine(frame), function);
  if (frame.module && frame.module_offset)
    return fmt::format("{}+{:#x}  {}", *frame.module, *frame.module_offset, function);
  return fmt::format("{}  {}", frame.module.value_or("?"), function);
}

std::string CopiesText(const std::vector<analysis::CopySummary>& copies) {
  std::vector<std::string> texts;
  for (const analysis::CopySummary& copy : copies) {
    const auto kind = [](const std::optional<capture::MemoryKind>& memory) {
      return memory ? analysis::MemoryKindName(*memory) : std::string_view("unknown");
    };
    texts.push_back(fmt::format("{} {} to {}, {}", FormatCount(copy.count), kind(copy.source_kind),
                                kind(copy.target_kind), FormatBytes(copy.bytes)));
  }
  return texts.empty() ? kNone : fmt::format("{}", fmt::join(texts, "; "));
}

Table WithoutColumn(Table table, std::string_view title) {
  const auto column = std::find_if(table.columns.begin(), table.columns.end(),
                                   [&](const Column& candidate) { return candidate.title == title; });
  const auto index = column - table.columns.begin();
  table.columns.erase(column);
  for (auto& row : table.rows) row.erase(row.begin() + index);
  return table;
}

// Per the only occurrence is the count itself.
Table WithoutRates(Table table) { return WithoutColumn(std::move(table), "each"); }

std::string Recoverable(const analysis::Site& site) {
  if (site.kind == analysis::SiteKind::kQueueFull) return "unknown";
  if (!site.recoverable_ns && site.cost.stall_count) return "no later work";
  return (site.recoverable_is_first_order ? "about " : "") + Duration(site.recoverable_ns);
}

int64_t UnknownCount(const analysis::HuntReport& report) {
  return std::accumulate(report.totals.begin(), report.totals.end(), int64_t{0},
                         [](int64_t count, const auto& total) { return count + total.cost.unknown_count.value_or(0); });
}

// What the numbers leave out.
void AddUnknowns(const analysis::HuntReport& report, std::vector<std::string>& summary) {
  if (report.unknown_kind_copy_count > 0) {
    summary.push_back(fmt::format("{} asynchronous copies of unknown memory kind are not counted.",
                                  FormatCount(report.unknown_kind_copy_count)));
  }
  if (report.sync_point_count && !report.counts_complete) {
    summary.push_back("Data was lost: the counts are incomplete (see Losses).");
  }
  if (std::any_of(report.losses.begin(), report.losses.end(), [](const auto& loss) { return loss.affects_costs; })) {
    summary.push_back("Data was lost: the costs may be wrong (see Losses).");
  }
  if (const int64_t count = UnknownCount(report); count > 0) {
    summary.push_back(fmt::format("{} for events whose record is not in the recording: what {} is unknown.",
                                  Counted(count, "wait"), count == 1 ? "it costs" : "they cost"));
  }
}

// Sites of a group, and what all sites save.
std::vector<std::string> RecoverableSentences(const analysis::HuntReport& report) {
  std::vector<std::string> sentences;
  for (const analysis::SiteGroup& group : report.groups) {
    std::vector<std::string> places;
    for (const size_t index : group.sites) {
      const analysis::Site& site = report.sites[index];
      places.push_back(PlaceText(site));
    }
    sentences.push_back(fmt::format("Only together do {} recover {}: each takes over what another waited for.",
                                    fmt::join(places, " and "), FormatDuration(group.recoverable_ns)));
  }
  if (report.recoverable_all_ns && report.sites.size() > 1) {
    sentences.push_back(
        fmt::format("Without all of these sites the recording would be {} shorter, which is not the sum.",
                    FormatDuration(*report.recoverable_all_ns)));
  }
  return sentences;
}

// What the catalogue says of the site, in one line.
std::string Why(const analysis::Site& site) {
  const analysis::CatalogueEntry* entry =
      site.catalogue_id ? analysis::BuiltInCatalogue().Find(*site.catalogue_id) : nullptr;
  return entry == nullptr ? kNone : fmt::format("{} (stallhound explain {})", entry->title, entry->id);
}

std::string FunctionText(const analysis::Site& site) {
  if (site.forward) return site.forward->node;
  return site.innermost_user ? site.innermost_user->function.value_or(kNone) : kNone;
}

// "aten::nonzero and 2 others (inferred)"; imported traces may have named the place so.
std::string OperatorText(const analysis::Site& site) {
  if (!site.operator_name || (site.operator_count == 1 && PlaceText(site) == *site.operator_name)) return kNone;
  return WithOthers(*site.operator_name, site.operator_count) +
         (site.operator_confidence == analysis::Confidence::kExact ? "" : " (inferred)");
}

std::string RangeText(const analysis::Site& site) {
  return site.range ? WithOthers(*site.range, site.range_count) : kNone;
}

// The rest of where a site is: its stack, the operators around it, the line that made a backward.
std::vector<std::string> SiteDetails(const analysis::Site& site) {
  std::vector<std::string> details;
  for (const Frame& frame : site.stack) details.push_back(FrameText(frame));
  if (site.operator_stack.size() > 1) {
    details.push_back(fmt::format("operators: {} (confidence: {})", fmt::join(site.operator_stack, ", "),
                                  ConfidenceName(site.operator_confidence)));
  }
  if (site.forward) {
    details.push_back(
        fmt::format("{} was made by (confidence: {})", site.forward->node, ConfidenceName(site.forward->confidence)));
    for (const Frame& frame : site.forward->stack) details.push_back(FrameText(frame));
  }
  return details;
}

std::optional<std::string> MeasuredRange(const analysis::HuntReport& report) {
  return report.steps && report.steps->range ? report.steps->range : report.range;
}

// Without columns that say nothing of any site; that all lie in the measured range is no news.
Table WithoutSilentColumns(Table table, const std::optional<std::string>& measured_range) {
  for (const char* title : {"operator", "range", "why"}) {
    const auto column = std::find_if(table.columns.begin(), table.columns.end(),
                                     [&](const Column& candidate) { return candidate.title == title; });
    const auto index = static_cast<size_t>(column - table.columns.begin());
    const bool is_silent = std::all_of(table.rows.begin(), table.rows.end(), [&](const auto& row) {
      return row[index] == kNone || (std::string_view(title) == "range" && row[index] == measured_range);
    });
    if (is_silent) table = WithoutColumn(std::move(table), title);
  }
  return table;
}

Section SitesSection(const analysis::HuntReport& report) {
  Section section{"Sites", {}, {}};
  section.table = MakeTable({{"kind"},
                             {"where", kName},
                             {"in", kName},
                             {"operator"},
                             {"range"},
                             {"API", kName},
                             {"count", kNumber},
                             {"each", kNumber},
                             {"stalls", kNumber},
                             {"blocked", kNumber},
                             {"GPU idle", kNumber},
                             {"recoverable", kNumber},
                             {"copies"},
                             {"why"}});
  for (const analysis::Site& site : report.sites) {
    section.table.rows.push_back({analysis::SiteKindName(site.kind), PlaceText(site), FunctionText(site),
                                  OperatorText(site), RangeText(site), fmt::format("{}", fmt::join(site.apis, ", ")),
                                  FormatCount(site.count), Rate(site.count_per_occurrence),
                                  Count(site.cost.stall_count), Duration(site.cost.blocked_ns), Idle(site.cost),
                                  Recoverable(site), CopiesText(site.copies), Why(site)});
    section.table.details.push_back(SiteDetails(site));
  }
  if (report.occurrence_count == 1) section.table = WithoutRates(std::move(section.table));
  section.table = WithoutSilentColumns(std::move(section.table), MeasuredRange(report));
  if (report.sites.empty()) {
    section.sentences.push_back(report.sync_point_count ? "No sync point was recorded."
                                                        : "Not recorded: the recording holds no host calls.");
  }
  return section;
}

// Says more than the site's own line.
bool HasLinesBelow(const analysis::Site& site) {
  if (site.lines.empty()) return false;
  const Frame& first = site.lines.front().frame;
  return site.line_count > 1 || (site.innermost_user && FileLine(first) != FileLine(*site.innermost_user));
}

// What calls below the sites' lines, most often of a library, made the points.
Section LinesSection(const analysis::HuntReport& report) {
  Section section{"Inside the sites", {}, {}};
  section.table = MakeTable({{"site", kName},
                             {"innermost line", kName},
                             {"in", kName},
                             {"count", kNumber},
                             {"blocked", kNumber},
                             {"GPU idle", kNumber}});
  for (const analysis::Site& site : report.sites) {
    if (!HasLinesBelow(site)) continue;
    for (const analysis::SiteLine& line : site.lines) {
      const std::string place = FileLine(line.frame);
      const std::string idle = line.blocked_ns && !line.idle_ns ? "no later work" : Duration(line.idle_ns);
      section.table.rows.push_back({PlaceText(site), place.empty() ? line.frame.module.value_or(kNone) : place,
                                    line.frame.function.value_or(kNone), FormatCount(line.count),
                                    Duration(line.blocked_ns), idle});
    }
    if (site.line_count > static_cast<int64_t>(site.lines.size())) {
      const bool has_costs = site.cost.blocked_ns.has_value();
      section.sentences.push_back(fmt::format("{}: the {} most {} of {} lines.", PlaceText(site), site.lines.size(),
                                              has_costs ? "expensive" : "frequent", FormatCount(site.line_count)));
    }
  }
  return section;
}

Section TotalsSection(const analysis::HuntReport& report) {
  Section section{"By kind", {}, {}};
  section.table = MakeTable({{"kind"},
                             {"count", kNumber},
                             {"each", kNumber},
                             {"in calls", kNumber},
                             {"stalls", kNumber},
                             {"blocked", kNumber},
                             {"GPU idle", kNumber}});
  for (const analysis::KindTotal& total : report.totals) {
    if (total.count == 0) continue;
    section.table.rows.push_back({analysis::SiteKindName(total.kind), FormatCount(total.count),
                                  Rate(total.count_per_occurrence), FormatDuration(total.call_ns),
                                  Count(total.cost.stall_count), Duration(total.cost.blocked_ns), Idle(total.cost)});
  }
  if (report.occurrence_count == 1) section.table = WithoutRates(std::move(section.table));
  return section;
}

Section RangesSection(const std::vector<analysis::RangeSummary>& ranges) {
  constexpr size_t kMostRanges = 20;
  Section section{"Ranges", {}, {}};
  section.table = MakeTable({{"range", kName}, {"occurrences", kNumber}, {"total", kNumber}, {"measured"}});
  for (const analysis::RangeSummary& range : ranges) {
    if (section.table.rows.size() == kMostRanges) {
      section.sentences.push_back(fmt::format("The longest {} of {} ranges.", kMostRanges, ranges.size()));
      break;
    }
    section.table.rows.push_back({range.name, FormatCount(range.occurrence_count), FormatDuration(range.total_ns),
                                  range.is_measured ? "yes" : "no"});
  }
  return section;
}

Section ProcessesSection(const analysis::HuntReport& report) {
  Section section{"Processes", {}, {}};
  section.table = MakeTable({{"pid", kNumber},
                             {"rank", kNumber},
                             {"duration", kNumber},
                             {"ended"},
                             {"GPU clock error", kNumber},
                             {"recorder's callbacks", kNumber}});
  for (const analysis::ProcessSummary& process : report.processes) {
    const std::string end = !process.clean_exit ? kUnknown : *process.clean_exit ? "cleanly" : "killed or cut";
    section.table.rows.push_back(
        {fmt::format("{}", process.pid), process.rank ? fmt::format("{}", *process.rank) : kNone,
         Duration(process.duration_ns), end, Duration(process.gpu_clock_error_ns), Duration(process.self_ns)});
  }
  return section;
}

Section LossesSection(const std::vector<analysis::LossSummary>& losses) {
  Section section{"Losses", {}, {}};
  section.table = MakeTable({{"counter"}, {"count", kNumber}, {"meaning"}, {"detail"}, {"in doubt"}});
  for (const analysis::LossSummary& loss : losses) {
    const char* doubt = loss.affects_counts ? "counts and costs" : loss.affects_costs ? "costs" : "nothing";
    section.table.rows.push_back({loss.id, FormatCount(loss.count), loss.meaning, loss.detail.value_or(kNone), doubt});
  }
  if (losses.empty()) section.sentences.push_back("Nothing was lost.");
  return section;
}

Section DevicesSection(const std::vector<analysis::DeviceSummary>& devices) {
  Section section{"Devices", {}, {}};
  section.table = MakeTable({{"device", kNumber}, {"name"}, {"SMs", kNumber}, {"memory", kNumber}});
  for (const analysis::DeviceSummary& device : devices) {
    const std::string memory =
        device.memory_bytes ? FormatBytes(static_cast<uint64_t>(*device.memory_bytes)) : kUnknown;
    section.table.rows.push_back(
        {fmt::format("{}", device.device_id), device.name.value_or(kUnknown), Count(device.sm_count), memory});
  }
  return section;
}

Section EnvironmentSection(const analysis::HuntReport& report) {
  Section section{"Environment", {}, {}};
  section.table = MakeTable({{"key", kName}, {"value", kName}});
  for (const analysis::EnvironmentEntry& entry : report.environment) {
    section.table.rows.push_back({entry.key, entry.value});
  }
  return section;
}

void AddIfFilled(std::vector<Section>& sections, Section section) {
  if (!section.table.rows.empty() || !section.sentences.empty()) sections.push_back(std::move(section));
}

std::string CaptureSentence(const analysis::CaptureSummary& capture) {
  const std::string mode = capture.mode.empty() ? "" : fmt::format(", mode {}", capture.mode);
  const std::string uuid = capture.uuid.empty() ? "" : capture.uuid + " ";
  const std::string length =
      capture.duration_ns > 0 ? FormatDuration(capture.duration_ns) + " long" : "without an event that has a time";
  return fmt::format("Recording {}({}, {}{}), {}.", uuid, capture.format, capture.producer, mode, length);
}

std::string BytesText(std::optional<uint64_t> bytes) { return bytes ? FormatBytes(*bytes) : kUnknown; }

std::string RecorderSentence(const analysis::RecorderShare& recorder, int64_t occurrence_count) {
  const std::string each =
      occurrence_count > 1 ? fmt::format(", {} each", FormatDuration(recorder.own_ns / occurrence_count)) : "";
  const std::string idle = recorder.idle_ns
                               ? fmt::format("; {} of GPU idle behind stalls is its own and is not counted",
                                             FormatDuration(*recorder.idle_ns))
                               : "";
  return fmt::format("Recording took about {} of the host's time in the measured time{}{}.",
                     FormatDuration(recorder.own_ns), each, idle);
}

void AddNotes(const std::vector<std::string>& notes, std::vector<std::string>& sentences) {
  for (const std::string& note : notes) sentences.push_back("Note: " + note);
}

void AddSteps(const std::optional<analysis::StepsSummary>& steps, Document& document) {
  if (!steps) return;
  for (std::string& sentence : analysis::StepsSentences(*steps)) document.summary.push_back(std::move(sentence));
}

// Nothing a recording holds may act on the terminal or page that shows it.
void MakeDisplayable(std::vector<std::string>& texts) {
  for (std::string& text : texts) text = Displayable(text);
}

}  // namespace

Document DisplayableDocument(Document document) {
  const auto make_sentences = [](std::vector<std::string>& sentences) {
    MakeDisplayable(sentences);
    std::erase_if(sentences, [](const std::string& text) { return text.find_first_not_of(' ') == std::string::npos; });
  };
  document.title = Displayable(document.title);
  make_sentences(document.summary);
  for (Section& section : document.sections) {
    section.title = Displayable(section.title);
    make_sentences(section.sentences);
    for (auto& row : section.table.rows) MakeDisplayable(row);
    for (auto& lines : section.table.details) MakeDisplayable(lines);
  }
  return document;
}

Document HuntDocument(const analysis::HuntReport& report) {
  Document document;
  document.title = "Host-device sync points";
  document.summary.push_back(CaptureSentence(report.capture));
  const bool has_steps = report.steps && report.steps->source != analysis::StepSource::kNone;
  const std::string measured =
      has_steps ? Counted(report.occurrence_count, "step")
      : report.range
          ? fmt::format("{} of range {}", Counted(report.occurrence_count, "occurrence"), *report.range)
          : fmt::format("{} process{}", FormatCount(report.occurrence_count), report.occurrence_count == 1 ? "" : "es");
  const bool has_rates = report.occurrence_count != 1;
  if (report.sync_point_count) {
    document.summary.push_back(fmt::format("{} at {} in {}{}.", Counted(*report.sync_point_count, "sync point"),
                                           Counted(static_cast<int64_t>(report.sites.size()), "site"), measured,
                                           has_rates ? "; \"each\" is per one of them" : ""));
  } else {
    document.summary.push_back(
        fmt::format("Sync points: not recorded, in {}. How many there were is unknown.", measured));
  }
  AddSteps(report.steps, document);
  if (report.budget) document.summary.push_back(BudgetSentence(*report.budget));
  AddUnknowns(report, document.summary);
  for (std::string& sentence : RecoverableSentences(report)) document.summary.push_back(std::move(sentence));
  if (!report.rank_delays.empty()) document.summary.push_back(RankDelaySentence(report));
  if (report.recorder) document.summary.push_back(RecorderSentence(*report.recorder, report.occurrence_count));
  AddNotes(report.notes, document.summary);
  if (report.budget) document.sections.push_back(BudgetSection(*report.budget));
  document.sections.push_back(SitesSection(report));
  AddIfFilled(document.sections, LinesSection(report));
  if (!report.rank_delays.empty()) document.sections.push_back(RanksSection(report));
  AddIfFilled(document.sections, TotalsSection(report));
  AddIfFilled(document.sections, RangesSection(report.ranges));
  AddIfFilled(document.sections, ProcessesSection(report));
  AddIfFilled(document.sections, DevicesSection(report.devices));
  document.sections.push_back(LossesSection(report.losses));
  AddIfFilled(document.sections, EnvironmentSection(report));
  document.sections.push_back(
      {"Definitions",
       {fmt::format("A sync point is counted by what the call is, whether it blocked or not. It is a stall if the call "
                    "lasted at least {} and the work it waited for ended inside it, before its return by at most {} "
                    "(copies: {}, other calls than syncs: {}).",
                    FormatDuration(analysis::kStallMinimumNs), FormatDuration(report.return_limits.sync_ns),
                    FormatDuration(report.return_limits.copy_ns), FormatDuration(analysis::kStallReturnNs)),
        "Blocked is the part of the call before the awaited work ended; GPU idle lasts from that end to the first work "
        "the thread submits after the return. Recoverable is what the recording, replayed, would be shorter by without "
        "the site."},
       {}});
  return DisplayableDocument(std::move(document));
}

Document CountsDocument(const analysis::CountsReport& report) {
  Document document;
  document.title = "Counts";
  document.summary.push_back(CaptureSentence(report.capture));
  const bool has_steps = report.steps && report.steps->source != analysis::StepSource::kNone;
  document.summary.push_back(has_steps      ? "Per step."
                             : report.range ? fmt::format("Per occurrence of range {}.", *report.range)
                                            : "Per process.");
  AddSteps(report.steps, document);
  if (!report.counts_complete) document.summary.push_back("Data was lost: the counts are incomplete (see Losses).");
  if (report.unplaced_count > 0) {
    document.summary.push_back(fmt::format("{} GPU records have no known launch and lie in no occurrence.",
                                           FormatCount(report.unplaced_count)));
  }
  AddNotes(report.notes, document.summary);
  Section totals{"Totals", {}, MakeTable({{"event"}, {"count", kNumber}, {"bytes", kNumber}})};
  const analysis::EventCounts& total = report.total;
  const auto add = [&](const std::string& name, const std::string& count, const std::string& bytes) {
    totals.table.rows.push_back({name, count, bytes});
  };
  add("kernels", Count(total.kernel_count), kNone);
  add("graph launches", Count(total.graph_launch_count), kNone);
  for (int kind = 0; kind < analysis::kSiteKindCount; ++kind) {
    const auto site_kind = static_cast<analysis::SiteKind>(kind);
    if (analysis::IsSyncPoint(site_kind)) {
      add(fmt::format("sync points: {}", analysis::SiteKindName(site_kind)), Count(total.SyncPoints(site_kind)), kNone);
    }
  }
  if (!total.copies) add("copies", kUnknown, kUnknown);
  for (const analysis::CopySummary& copy : total.copies.value_or(std::vector<analysis::CopySummary>())) {
    const auto kind = [](const auto& memory) {
      return memory ? analysis::MemoryKindName(*memory) : std::string_view("unknown");
    };
    add(fmt::format("copies: {}, {} to {}", analysis::CopyDirectionName(copy.direction), kind(copy.source_kind),
                    kind(copy.target_kind)),
        FormatCount(copy.count), FormatBytes(copy.bytes));
  }
  add("memsets", Count(total.memset_count), BytesText(total.memset_bytes));
  add("device allocations", Count(total.device_allocate_count), kNone);
  add("device frees", Count(total.device_free_count), kNone);
  add("host allocations", Count(total.host_allocate_count), kNone);
  add("host frees", Count(total.host_free_count), kNone);
  add("host registrations", Count(total.host_register_count), kNone);
  add("virtual memory calls", Count(total.virtual_memory_count), kNone);
  add("stream-ordered allocations and frees", Count(total.stream_ordered_count), kNone);
  document.sections.push_back(std::move(totals));
  Section sites{"Sites", {}, MakeTable({{"kind"}, {"where", kName}, {"API", kName}, {"count", kNumber}})};
  for (const analysis::CountsSite& site : report.sites) {
    sites.table.rows.push_back({analysis::SiteKindName(site.kind), PlaceText(site),
                                fmt::format("{}", fmt::join(site.apis, ", ")), FormatCount(site.count)});
  }
  AddIfFilled(document.sections, std::move(sites));
  document.sections.push_back(LossesSection(report.losses));
  return DisplayableDocument(std::move(document));
}

}  // namespace stallhound::reports
