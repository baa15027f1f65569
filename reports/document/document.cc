#include "reports/document/document.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/units.h"

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
  if (!cost.idle_ns && cost.no_later_work_count > 0) return "no later work";
  return Duration(cost.idle_ns);
}

Table MakeTable(std::vector<std::string> columns, std::vector<bool> is_number) {
  return {std::move(columns), std::move(is_number), {}, {}};
}

std::string FileLine(const Frame& frame) {
  if (!frame.file) return "";
  return frame.line ? fmt::format("{}:{}", *frame.file, *frame.line) : *frame.file;
}

Section SitesSection(const analysis::HuntReport& report) {
  Section section{"Sites", {}, {}};
  section.table = MakeTable({"kind", "where", "in", "API", "count", "each", "stalls", "blocked", "GPU idle", "copies"},
                            {false, false, false, false, true, true, true, true, true, false});
  for (const analysis::Site& site : report.sites) {
    const std::optional<std::string> function =
        site.innermost_user ? site.innermost_user->function : std::optional<std::string>();
    section.table.rows.push_back(
        {analysis::SiteKindName(site.kind), PlaceText(site.innermost_user, site.native_symbol), function.value_or("-"),
         fmt::format("{}", fmt::join(site.apis, ", ")), FormatCount(site.count), Rate(site.count_per_occurrence),
         Count(site.cost.stall_count), Duration(site.cost.blocked_ns), Idle(site.cost), CopiesText(site.copies)});
    std::vector<std::string> details;
    for (const Frame& frame : site.stack) details.push_back(FrameText(frame));
    section.table.details.push_back(std::move(details));
  }
  if (report.sites.empty()) section.sentences.push_back("No sync point was recorded.");
  return section;
}

Section TotalsSection(const analysis::HuntReport& report) {
  Section section{"By kind", {}, {}};
  section.table = MakeTable({"kind", "count", "each", "in calls", "stalls", "blocked", "GPU idle"},
                            {false, true, true, true, true, true, true});
  for (const analysis::KindTotal& total : report.totals) {
    section.table.rows.push_back({analysis::SiteKindName(total.kind), FormatCount(total.count),
                                  Rate(total.count_per_occurrence), FormatDuration(total.call_ns),
                                  Count(total.cost.stall_count), Duration(total.cost.blocked_ns), Idle(total.cost)});
  }
  return section;
}

Section RangesSection(const std::vector<analysis::RangeSummary>& ranges) {
  constexpr size_t kMostRanges = 20;
  Section section{"Ranges", {}, {}};
  section.table = MakeTable({"range", "occurrences", "total", "measured"}, {false, true, true, false});
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
  section.table = MakeTable({"pid", "rank", "duration", "ended", "GPU clock error", "recorder's own time"},
                            {true, true, true, false, true, true});
  for (const analysis::ProcessSummary& process : report.processes) {
    const std::string end = !process.clean_exit ? kUnknown : *process.clean_exit ? "cleanly" : "killed or cut";
    section.table.rows.push_back({fmt::format("{}", process.pid), process.rank ? fmt::format("{}", *process.rank) : "-",
                                  Duration(process.duration_ns), end, Duration(process.gpu_clock_error_ns),
                                  Duration(process.self_ns)});
  }
  return section;
}

Section LossesSection(const std::vector<analysis::LossSummary>& losses) {
  Section section{"Losses", {}, {}};
  section.table = MakeTable({"counter", "count", "meaning", "detail", "in doubt"}, {false, true, false, false, false});
  for (const analysis::LossSummary& loss : losses) {
    const char* doubt = loss.affects_counts ? "counts and costs" : loss.affects_costs ? "costs" : "nothing";
    section.table.rows.push_back({loss.id, FormatCount(loss.count), loss.meaning, loss.detail.value_or("-"), doubt});
  }
  if (losses.empty()) section.sentences.push_back("Nothing was lost.");
  return section;
}

Section EnvironmentSection(const analysis::HuntReport& report) {
  Section section{"Environment", {}, {}};
  section.table = MakeTable({"key", "value"}, {false, false});
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
  return fmt::format("Recording {} ({}, {}{}), {} long.", capture.uuid, capture.format, capture.producer, mode,
                     FormatDuration(capture.duration_ns));
}

std::string BytesText(std::optional<uint64_t> bytes) { return bytes ? FormatBytes(*bytes) : kUnknown; }

}  // namespace

std::string PlaceText(const std::optional<Frame>& frame, const std::optional<std::string>& native_symbol) {
  if (frame && frame->file) return FileLine(*frame);
  return native_symbol.value_or("unknown");
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
  return texts.empty() ? "-" : fmt::format("{}", fmt::join(texts, "; "));
}

Document HuntDocument(const analysis::HuntReport& report) {
  Document document;
  document.title = "Host-device sync points";
  document.summary.push_back(CaptureSentence(report.capture));
  const std::string per = report.range ? fmt::format("occurrences of range {}", *report.range) : "processes";
  document.summary.push_back(fmt::format("{} sync points at {} sites in {} {}; \"each\" is per one of them.",
                                         FormatCount(report.sync_point_count), report.sites.size(),
                                         FormatCount(report.occurrence_count), per));
  if (report.unknown_kind_copy_count > 0) {
    document.summary.push_back(fmt::format("{} asynchronous copies of unknown memory kind are not counted.",
                                           FormatCount(report.unknown_kind_copy_count)));
  }
  if (!report.counts_complete) document.summary.push_back("Data was lost: the counts are incomplete (see Losses).");
  if (!report.costs_complete) document.summary.push_back("Data was lost: the costs may be wrong (see Losses).");
  document.summary.insert(document.summary.end(), report.notes.begin(), report.notes.end());
  document.sections.push_back(SitesSection(report));
  document.sections.push_back(TotalsSection(report));
  AddIfFilled(document.sections, RangesSection(report.ranges));
  AddIfFilled(document.sections, ProcessesSection(report));
  document.sections.push_back(LossesSection(report.losses));
  AddIfFilled(document.sections, EnvironmentSection(report));
  document.sections.push_back(
      {"Definitions",
       {fmt::format("A sync point is counted by what the call is, whether it blocked or not. It is a stall if the call "
                    "lasted at least {} and the work it waited for ended inside it, at most {} before its return.",
                    FormatDuration(analysis::kStallMinimumNs), FormatDuration(analysis::kStallReturnNs)),
        "Blocked is the part of the call before the awaited work ended; GPU idle lasts from that end to the first work "
        "the thread submits after the return."},
       {}});
  return document;
}

Document CountsDocument(const analysis::CountsReport& report) {
  Document document;
  document.title = "Counts";
  document.summary.push_back(CaptureSentence(report.capture));
  document.summary.push_back(report.range ? fmt::format("Per occurrence of range {}.", *report.range) : "Per process.");
  if (!report.counts_complete) document.summary.push_back("Data was lost: the counts are incomplete (see Losses).");
  if (report.unplaced_count > 0) {
    document.summary.push_back(fmt::format("{} GPU records have no known launch and lie in no occurrence.",
                                           FormatCount(report.unplaced_count)));
  }
  document.summary.insert(document.summary.end(), report.notes.begin(), report.notes.end());
  Section totals{"Totals", {}, MakeTable({"event", "count", "bytes"}, {false, true, true})};
  const analysis::EventCounts& total = report.total;
  const auto add = [&](const std::string& name, const std::string& count, const std::string& bytes) {
    totals.table.rows.push_back({name, count, bytes});
  };
  add("kernels", Count(total.kernel_count), "-");
  add("graph launches", Count(total.graph_launch_count), "-");
  for (int kind = 0; kind < analysis::kSiteKindCount; ++kind) {
    const auto site_kind = static_cast<analysis::SiteKind>(kind);
    if (analysis::IsSyncPoint(site_kind)) {
      add(fmt::format("sync points: {}", analysis::SiteKindName(site_kind)), Count(total.SyncPoints(site_kind)), "-");
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
  add("device allocations", Count(total.device_allocate_count), "-");
  add("device frees", Count(total.device_free_count), "-");
  add("host allocations", Count(total.host_allocate_count), "-");
  add("host frees", Count(total.host_free_count), "-");
  add("host registrations", Count(total.host_register_count), "-");
  add("virtual memory calls", Count(total.virtual_memory_count), "-");
  add("stream-ordered allocations and frees", Count(total.stream_ordered_count), "-");
  document.sections.push_back(std::move(totals));
  Section sites{"Sites", {}, MakeTable({"kind", "where", "API", "count"}, {false, false, false, true})};
  for (const analysis::CountsSite& site : report.sites) {
    sites.table.rows.push_back({analysis::SiteKindName(site.kind), PlaceText(site.innermost_user, site.native_symbol),
                                fmt::format("{}", fmt::join(site.apis, ", ")), FormatCount(site.count)});
  }
  AddIfFilled(document.sections, std::move(sites));
  document.sections.push_back(LossesSection(report.losses));
  return document;
}

}  // namespace stallhound::reports
