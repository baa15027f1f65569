#include "cli/history.h"

#include <fmt/format.h>

#include <filesystem>
#include <vector>

#include "base/clock.h"
#include "base/status_macros.h"
#include "cli/exit_code.h"
#include "cli/home.h"

namespace stallhound::cli {
namespace {

constexpr char kHowToMeasure[] = "`stallhound bench` measures a run and keeps it";

}  // namespace

absl::StatusOr<std::unique_ptr<store::History>> OpenHomeHistory(store::Access access, Console& console) {
  const std::string path = HistoryPath(HomeFolder());
  std::error_code error;
  const bool exists = std::filesystem::exists(path, error);
  if (error) {
    return EnvironmentError(fmt::format("opening the history '{}': {} (hint: STALLHOUND_HOME names another folder)",
                                        path, error.message()));
  }
  if (!exists) {
    return absl::NotFoundError(fmt::format(
        "opening the history '{}': there is none; {}, STALLHOUND_HOME names another folder", path, kHowToMeasure));
  }
  SH_ASSIGN_OR_RETURN(std::unique_ptr<store::History> history, store::OpenHistory(path, {.access = access}));
  for (const std::string& warning : history->warnings()) console.Warn(warning);
  return history;
}

absl::StatusOr<store::RunInfo> FindRunOrNewest(store::HistoryReader& history, const std::string& text,
                                               Console& console) {
  if (!text.empty()) return history.FindRun(text);
  absl::StatusOr<store::RunInfo> newest = history.NewestRun();
  if (absl::IsNotFound(newest.status())) {
    return absl::NotFoundError(
        fmt::format("finding the newest run: the history '{}' has none; {}", HistoryPath(HomeFolder()), kHowToMeasure));
  }
  SH_RETURN_IF_ERROR(newest.status());
  SH_ASSIGN_OR_RETURN(const std::vector<store::RunInfo> latest, history.LastRuns({.limit = 1}));
  if (!latest.empty() && latest.front().started_at_ns > newest->started_at_ns) {
    console.Warn(fmt::format(
        "taking the run {}, the last that was added, though by the clock it started before the run {} ({} and {} UTC): "
        "the clock was set back, or a run was added late; is_last_run of the history goes by the clock",
        newest->uuid, latest.front().uuid, FormatUtc(newest->started_at_ns), FormatUtc(latest.front().started_at_ns)));
  }
  return newest;
}

absl::StatusOr<store::RunInfo> FindBaselineRun(store::HistoryReader& history, const std::string& text) {
  const absl::StatusOr<store::Baseline> baseline = history.FindBaseline(text);
  if (baseline.ok()) return history.FindRun(baseline->run_uuid);
  if (!absl::IsNotFound(baseline.status())) return baseline.status();
  absl::StatusOr<store::RunInfo> run = history.FindRun(text);
  if (run.ok()) return run;
  if (absl::IsInvalidArgument(run.status()) && text.size() >= 4) return run.status();
  return absl::NotFoundError(fmt::format(
      "finding the baseline '{0}': no baseline has that name and no run begins so; `stallhound baseline set RUN --name "
      "{0}` makes one, `stallhound runs` lists runs",
      text));
}

}  // namespace stallhound::cli
