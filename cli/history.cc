#include "cli/history.h"

#include <fmt/format.h>

#include <filesystem>
#include <vector>

#include "base/status_macros.h"
#include "cli/home.h"

namespace stallhound::cli {
namespace {

constexpr char kHowToMeasure[] = "`stallhound bench` measures a run and keeps it";

}  // namespace

absl::StatusOr<std::unique_ptr<store::History>> OpenHomeHistory(store::Access access, Console& console) {
  const std::string path = HistoryPath(HomeFolder());
  std::error_code error;
  if (!std::filesystem::exists(path, error) && !error) {
    return absl::NotFoundError(fmt::format(
        "opening the history '{}': there is none; {}, STALLHOUND_HOME names another folder", path, kHowToMeasure));
  }
  SH_ASSIGN_OR_RETURN(std::unique_ptr<store::History> history, store::OpenHistory(path, {.access = access}));
  for (const std::string& warning : history->warnings()) console.Warn(warning);
  return history;
}

absl::StatusOr<store::RunInfo> FindRunOrNewest(store::HistoryReader& history, const std::string& text) {
  if (!text.empty()) return history.FindRun(text);
  SH_ASSIGN_OR_RETURN(std::vector<store::RunInfo> runs, history.LastRuns({.limit = 1}));
  if (runs.empty()) {
    return absl::NotFoundError(
        fmt::format("finding the newest run: the history '{}' has none; {}", HistoryPath(HomeFolder()), kHowToMeasure));
  }
  return std::move(runs.front());
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
