#include "reports/document/ranks_section.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

#include "base/units.h"
#include "reports/document/place.h"

namespace stallhound::reports {
namespace {

std::string RankText(const analysis::CollectiveRank& rank) {
  const std::string process = rank.rank ? fmt::format("rank {}", *rank.rank) : fmt::format("process {}", rank.pid);
  return fmt::format("{} (GPU {})", process, rank.device_id);
}

std::string KindText(analysis::DelayKind kind) {
  switch (kind) {
    case analysis::DelayKind::kStall:
      return "stall";
    case analysis::DelayKind::kDeviceWork:
      return "its GPU still at work";
    case analysis::DelayKind::kHost:
      return "its host late to launch";
  }
  return "unknown";
}

constexpr double kLeastShare = 0.005;  // would be shown as 0%

// "96% stall at train.py:27, 4% its host late to launch"; the largest first.
std::string CausesText(const analysis::HuntReport& report, const analysis::RankDelay& delay) {
  std::vector<std::string> texts;
  for (const analysis::DelayCause& cause : delay.causes) {
    const double share = static_cast<double>(cause.wait_ns) / static_cast<double>(delay.wait_ns);
    if (share < kLeastShare && !texts.empty()) continue;
    std::string text = fmt::format("{:.0f}% {}", share * 100, KindText(cause.kind));
    if (cause.site) {
      const analysis::Site& site = report.sites[*cause.site];
      text += " at " + PlaceText(site);
    }
    texts.push_back(std::move(text));
  }
  return fmt::format("{}", fmt::join(texts, ", "));
}

}  // namespace

std::string RankDelaySentence(const analysis::HuntReport& report) {
  const analysis::RankDelay& delay = report.rank_delays.front();
  return fmt::format(
      "In {} {} waited {} for {}: {}.",
      delay.collective_count == 1 ? "1 collective" : fmt::format("{} collectives", delay.collective_count),
      RankText(delay.waiting), FormatDuration(delay.wait_ns), RankText(delay.late), CausesText(report, delay));
}

Section RanksSection(const analysis::HuntReport& report) {
  Section section{"Ranks", {}, {}};
  section.table.columns = {{"waiting"},
                           {"for the late"},
                           {"collectives", ColumnKind::kNumber},
                           {"waited", ColumnKind::kNumber},
                           {"while the late one had"}};
  for (const analysis::RankDelay& delay : report.rank_delays) {
    section.table.rows.push_back({RankText(delay.waiting), RankText(delay.late), FormatCount(delay.collective_count),
                                  FormatDuration(delay.wait_ns), CausesText(report, delay)});
  }
  return section;
}

}  // namespace stallhound::reports
