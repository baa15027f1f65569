#include "cli/commands/prune_command.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>

#include "base/clock.h"
#include "base/status_macros.h"
#include "base/units.h"
#include "cli/exit_code.h"
#include "cli/home.h"
#include "cli/interrupt.h"
#include "cli/nightly/kept_builds.h"
#include "cli/option_checks.h"
#include "store/history.h"

namespace stallhound::cli {
namespace {

constexpr char kDetails[] =
    R"help(Removes captures from the home, and spools that no capture was made of, by the limits given; at least
one is needed, and what breaks any of them goes, oldest first; captures left half written go too.
Spools of running programs stay, and so does what bears other names. Of the benchmark programs that
`nightly` keeps, those go that no baseline names and no run measures just now, by age and size; --keep
is for captures alone. Without --yes it asks on a terminal and refuses elsewhere.

Examples:
  stallhound prune --older-than 30d --dry-run     # what would go
  stallhound prune --keep 20 --yes                # the newest 20 captures stay
  stallhound prune --max-size 10GiB --yes         # the newest 10 GiB stay)help";

struct PruneOptions {
  std::string older_than;
  std::optional<int64_t> keep_count;
  std::string max_size;
  bool dry_run = false;
  bool yes = false;
};

struct Limits {
  std::optional<int64_t> oldest_ns;  // CLOCK_REALTIME
  std::optional<int64_t> keep_count;
  std::optional<uint64_t> bytes;
};

absl::StatusOr<Limits> LimitsOf(const PruneOptions& options) {
  Limits limits;
  limits.keep_count = options.keep_count;
  if (!options.older_than.empty()) {
    const absl::StatusOr<int64_t> age_ns = ParseDuration(options.older_than);
    if (!age_ns.ok()) return UsageError(fmt::format("--older-than: {}", std::string(age_ns.status().message())));
    limits.oldest_ns = SystemClock().RealtimeNs() - *age_ns;
  }
  if (!options.max_size.empty()) {
    const absl::StatusOr<uint64_t> bytes = ParseBytes(options.max_size);
    if (!bytes.ok()) return UsageError(fmt::format("--max-size: {}", std::string(bytes.status().message())));
    limits.bytes = *bytes;
  }
  if (!limits.oldest_ns && !limits.keep_count && !limits.bytes) {
    return UsageError("what shall go? Give --older-than, --keep or --max-size (stallhound prune --help)");
  }
  return limits;
}

struct Item {
  std::string path;
  uint64_t bytes = 0;
  int64_t date_ns = 0;  // CLOCK_REALTIME
  // One of the two.
  std::optional<Recording> recording;
  std::optional<KeptBuild> build;
};

Item ItemOf(Recording recording) {
  Item item{recording.path, recording.bytes, recording.date_ns, std::nullopt, std::nullopt};
  item.recording = std::move(recording);
  return item;
}

Item ItemOf(KeptBuild build) {
  Item item{build.folder, build.bytes, build.modified_ns, std::nullopt, std::nullopt};
  item.build = std::move(build);
  return item;
}

// Kept benchmark programs that no baseline names and nobody measures with, so that nothing will be again.
absl::StatusOr<std::vector<KeptBuild>> UnnamedBuilds(const std::string& home) {
  std::vector<KeptBuild> builds = ListBuilds(home);
  std::erase_if(builds, IsInUse);
  if (builds.empty()) return builds;
  absl::StatusOr<std::unique_ptr<store::History>> history =
      store::OpenHistory(HistoryPath(home), {.access = store::Access::kRead});
  if (absl::IsNotFound(history.status())) return builds;
  SH_RETURN_IF_ERROR(history.status());
  SH_ASSIGN_OR_RETURN(const std::vector<store::Baseline> baselines, (*history)->ListBaselines());
  std::erase_if(builds, [&](const KeptBuild& build) {
    return std::any_of(baselines.begin(), baselines.end(), [&](const store::Baseline& baseline) {
      return std::find(build.run_uuids.begin(), build.run_uuids.end(), baseline.run_uuid) != build.run_uuids.end();
    });
  });
  return builds;
}

// All that may go, newest first.
absl::StatusOr<std::vector<Item>> ListItems(const std::string& home) {
  std::vector<Item> items;
  SH_ASSIGN_OR_RETURN(std::vector<Recording> recordings, ListRecordings(home));
  for (Recording& recording : recordings) {
    if (!recording.is_live) items.push_back(ItemOf(std::move(recording)));
  }
  SH_ASSIGN_OR_RETURN(std::vector<KeptBuild> builds, UnnamedBuilds(home));
  for (KeptBuild& build : builds) items.push_back(ItemOf(std::move(build)));
  std::stable_sort(items.begin(), items.end(), [](const Item& a, const Item& b) { return a.date_ns > b.date_ns; });
  return items;
}

// What goes, oldest first. `items` are newest first.
std::vector<Item> Select(const std::vector<Item>& items, const Limits& limits) {
  std::vector<Item> selected;
  int64_t capture_count = 0;
  uint64_t bytes = 0;
  for (const Item& item : items) {
    const bool is_capture = item.recording && !item.recording->is_spool;
    capture_count += is_capture ? 1 : 0;
    bytes += item.bytes;
    const bool is_old = limits.oldest_ns && item.date_ns < *limits.oldest_ns;
    const bool is_beyond = limits.keep_count && is_capture && capture_count > *limits.keep_count;
    const bool is_above = limits.bytes && bytes > *limits.bytes;
    if (is_old || is_beyond || is_above) selected.insert(selected.begin(), item);
  }
  return selected;
}

// One line of the terminal. Not through std::cin, which reads on after a signal; and one that comes just before the
// call does not end a read, so it is looked for again and again.
absl::StatusOr<std::string> ReadAnswer() {
  constexpr int kLookAgainMs = 100;
  std::string answer;
  pollfd terminal{STDIN_FILENO, POLLIN, 0};
  while (true) {
    SH_RETURN_IF_ERROR(CheckInterrupt());
    if (poll(&terminal, 1, kLookAgainMs) <= 0) continue;
    char c = 0;
    if (read(STDIN_FILENO, &c, 1) != 1 || c == '\n') return answer;
    answer += c;
  }
}

absl::StatusOr<bool> MayRemove(const PruneOptions& options, const std::string& summary, Console& console) {
  if (options.yes) return true;
  if (isatty(STDIN_FILENO) != 1 || !console.err_is_terminal()) {
    return UsageError(fmt::format("{} would go: say --yes (or --dry-run to see them)", summary));
  }
  console.Err(fmt::format("Remove {}? [y/N] ", summary));
  SH_RETURN_IF_ERROR(console.Flush());
  SH_ASSIGN_OR_RETURN(const std::string answer, ReadAnswer());
  return answer == "y" || answer == "Y" || answer == "yes";
}

absl::Status RemoveFile(const std::string& path) {
  if (unlink(path.c_str()) == 0 || errno == ENOENT) return absl::OkStatus();
  return absl::ErrnoToStatus(errno, fmt::format("removing '{}'", path));
}

// Of a folder of spools only the spools, and itself if nothing else is in it. False: the folder stays.
absl::StatusOr<bool> Remove(const Item& item, Console& console) {
  if (item.build) {
    SH_ASSIGN_OR_RETURN(const bool is_removed, RemoveBuild(*item.build));
    if (!is_removed) console.Note(fmt::format("{} stays: it is being measured", item.path));
    return is_removed;
  }
  const Recording& recording = *item.recording;
  if (!recording.is_spool) {
    SH_RETURN_IF_ERROR(RemoveFile(recording.path));
    return true;
  }
  for (const std::string& spool : SpoolFiles(recording.path)) {
    std::error_code error;
    const bool is_file = std::filesystem::is_regular_file(std::filesystem::symlink_status(spool, error));
    if (is_file) SH_RETURN_IF_ERROR(RemoveFile(spool));
  }
  if (rmdir(recording.path.c_str()) == 0 || errno == ENOENT) return true;
  if (errno != ENOTEMPTY && errno != EEXIST) {
    return absl::ErrnoToStatus(errno, fmt::format("removing '{}'", recording.path));
  }
  console.Note(fmt::format("{} stays: it holds more than spools", recording.path));
  return false;
}

// "2 recordings and 1 kept program (3.00 MiB)".
std::string Summary(int64_t recording_count, int64_t build_count, uint64_t bytes) {
  std::string text = fmt::format("{} recording{}", recording_count, recording_count == 1 ? "" : "s");
  if (build_count > 0) text += fmt::format(" and {} kept program{}", build_count, build_count == 1 ? "" : "s");
  return fmt::format("{} ({})", text, FormatBytes(bytes));
}

absl::StatusOr<int> RunPruneCommand(const PruneOptions& options, CommandContext& context) {
  Console& console = context.console;
  SH_ASSIGN_OR_RETURN(const Limits limits, LimitsOf(options));
  SH_ASSIGN_OR_RETURN(const std::vector<Item> items, ListItems(HomeFolder()));
  std::vector<Item> selected = Select(items, limits);
  for (Recording& remnant : ListRemnants(HomeFolder())) selected.push_back(ItemOf(std::move(remnant)));
  uint64_t bytes = 0;
  int64_t build_count = 0;
  for (const Item& item : selected) {
    bytes += item.bytes;
    build_count += item.build ? 1 : 0;
  }
  const std::string summary = Summary(static_cast<int64_t>(selected.size()) - build_count, build_count, bytes);
  if (options.dry_run || selected.empty()) {
    for (const Item& item : selected) console.Out(item.path + "\n");
    console.Note(selected.empty() ? "nothing to remove" : summary + " would go");
    return kExitFine;
  }
  SH_ASSIGN_OR_RETURN(const bool may_remove, MayRemove(options, summary, console));
  if (!may_remove) {
    console.Note("nothing was removed");
    return kExitFine;
  }
  for (const Item& item : selected) {
    SH_RETURN_IF_ERROR(CheckInterrupt());
    SH_ASSIGN_OR_RETURN(const bool is_removed, Remove(item, console));
    if (is_removed) console.Out(item.path + "\n");
  }
  console.Note("removed " + summary);
  return kExitFine;
}

}  // namespace

void AddPruneCommand(CommandRegistry& registry) {
  auto options = std::make_shared<PruneOptions>();
  CLI::App* command = registry.Add(
      {
          .name = "prune",
          .summary = "Remove old captures",
          .usage = "[options]",
          .details = kDetails,
      },
      [options](CommandContext& context) { return RunPruneCommand(*options, context); });
  command->add_option("--older-than", options->older_than, "Remove what is older, such as 30d")->type_name("TIME");
  command->add_option("--keep", options->keep_count, "Keep so many captures, the newest")
      ->check(WholeNumber(0))
      ->type_name("COUNT");
  command->add_option("--max-size", options->max_size, "Keep so much, the newest first")->type_name("SIZE");
  command->add_flag("--dry-run", options->dry_run, "Only print what would go");
  command->add_flag("--yes", options->yes, "Do not ask");
}

}  // namespace stallhound::cli
