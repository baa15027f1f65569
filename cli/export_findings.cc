#include "cli/export_findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string_view>

#include "base/units.h"

namespace stallhound::cli {
namespace {

// "train.py:12 step", else the native symbol, else the call.
std::string PlaceOf(const analysis::Site& site) {
  if (site.innermost_user) {
    const analysis::Frame& frame = *site.innermost_user;
    std::string place = frame.file.value_or(frame.module.value_or(""));
    if (frame.line) place += fmt::format(":{}", *frame.line);
    if (frame.function) place += fmt::format("{}{}", place.empty() ? "" : " ", *frame.function);
    return place;
  }
  if (site.forward) return ForwardKey(*site.forward);
  if (site.native_symbol) return *site.native_symbol;
  return site.apis.empty() ? std::string(analysis::SiteKindName(site.kind)) : site.apis.front();
}

}  // namespace

std::vector<capture::ExtraTrack> WaitTracks(const analysis::HuntReport& report) {
  capture::ExtraTrack waits{.name = "host waits"};
  capture::ExtraTrack idle{.name = "GPU idle after host waits"};
  for (const analysis::Wait& wait : report.waits) {
    if (!wait.blocked_ns) continue;
    const analysis::Site& site = report.sites[wait.site];
    const std::string name = fmt::format("#{} {}", wait.site + 1, PlaceOf(site));
    capture::ExtraSlice slice{.start_ns = wait.start_ns, .end_ns = wait.end_ns, .name = name};
    slice.arguments.emplace_back("kind", analysis::SiteKindName(site.kind));
    slice.arguments.emplace_back("blocked", FormatDuration(*wait.blocked_ns));
    slice.arguments.emplace_back("GPU idle", wait.idle_ns ? FormatDuration(*wait.idle_ns) : "no later GPU work");
    waits.slices.push_back(std::move(slice));
    if (!wait.idle_ns || *wait.idle_ns == 0) continue;
    const int64_t work_end_ns = std::clamp(wait.start_ns + *wait.blocked_ns, wait.start_ns, wait.end_ns);
    idle.slices.push_back({.start_ns = work_end_ns, .end_ns = work_end_ns + *wait.idle_ns, .name = name});
  }
  std::stable_sort(idle.slices.begin(), idle.slices.end(),
                   [](const auto& a, const auto& b) { return a.start_ns < b.start_ns; });
  return {std::move(waits), std::move(idle)};
}

absl::StatusOr<size_t> FindingNumber(std::string_view text) {
  std::string_view digits = text;
  if (digits.starts_with('#')) digits.remove_prefix(1);
  size_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error == std::errc() && end == digits.data() + digits.size() && number > 0) return number;
  return absl::InvalidArgumentError(
      fmt::format("'{}' is no number of a finding (hint: 1 is the first of `stallhound hunt`)", text));
}

absl::StatusOr<FindingWindow> WindowAround(const analysis::HuntReport& report, size_t number, int64_t window_ns) {
  const analysis::Wait* costliest = nullptr;
  const auto cost = [](const analysis::Wait& wait) {
    return std::pair(wait.idle_ns.value_or(0), wait.blocked_ns.value_or(0));
  };
  for (const analysis::Wait& wait : report.waits) {
    if (wait.site + 1 != number) continue;
    if (costliest == nullptr || cost(wait) > cost(*costliest)) costliest = &wait;
  }
  if (costliest == nullptr) {
    return absl::NotFoundError(fmt::format("exporting around finding {}: the recording has {} findings{}", number,
                                           report.sites.size(), report.range ? " in range " + *report.range : ""));
  }
  return FindingWindow{
      {costliest->start_ns - window_ns / 2, costliest->end_ns + costliest->idle_ns.value_or(0) + (window_ns + 1) / 2},
      fmt::format("#{} {}", number, PlaceOf(report.sites[number - 1]))};
}

}  // namespace stallhound::cli
