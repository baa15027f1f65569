#include "cli/commands/captures_command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>

#include "analysis/counts/counts.h"
#include "base/clock.h"
#include "base/display_text.h"
#include "base/json_writer.h"
#include "base/status_macros.h"
#include "base/units.h"
#include "capture/file/capture_file.h"
#include "capture/spool/reader.h"
#include "cli/exit_code.h"
#include "cli/home.h"
#include "cli/interrupt.h"
#include "cli/progress.h"

namespace stallhound::cli {
namespace {

constexpr char kDetails[] =
    R"help(Lists the captures of the home ($STALLHOUND_HOME, else ./.stallhound), newest first, with the sync
points in each. Spools that are still there are listed too: `stallhound hunt --from` reads
them, `stallhound prune` removes them.

Examples:
  stallhound captures
  stallhound captures --json | jq -r '.[0].path')help";

constexpr size_t kShownUuidLength = 13;

// What a capture says of itself; nullopt: unknown, `problem` says why.
struct Entry {
  Recording recording;
  std::optional<int64_t> started_ns;  // CLOCK_REALTIME
  std::vector<std::string> programs;
  std::optional<int64_t> sync_point_count;
  std::string problem;
};

class ProgramNames : public capture::CaptureVisitor {
 public:
  using capture::CaptureVisitor::On;
  explicit ProgramNames(const capture::StringTable& strings) : strings_(strings) {}
  absl::Status On(const capture::ProcessBatch& batch) override {
    for (const auto& name : batch.name) {
      if (name) names_.insert(std::string(strings_.Get(*name)));
    }
    return absl::OkStatus();
  }
  std::vector<std::string> names() const { return {names_.begin(), names_.end()}; }

 private:
  const capture::StringTable& strings_;
  std::set<std::string> names_;
};

absl::Status Describe(Entry& entry, Console& console) {
  SH_ASSIGN_OR_RETURN(const std::unique_ptr<capture::CaptureReader> reader,
                      capture::OpenCaptureFile(entry.recording.path));
  entry.started_ns = reader->info().epoch_ns;
  ProgramNames programs(reader->strings());
  SH_RETURN_IF_ERROR(reader->Read(capture::Tables({capture::Table::kProcess}), programs));
  entry.programs = programs.names();
  Progress progress(console, "counting " + entry.recording.uuid);
  WatchedReader watched(*reader, progress);
  SH_ASSIGN_OR_RETURN(const analysis::CountsReport counts, analysis::Counts(watched, {}));
  if (!counts.total.sync_points) return absl::OkStatus();
  int64_t count = 0;
  for (int kind = 0; kind < analysis::kSiteKindCount; ++kind) {
    if (analysis::IsSyncPoint(static_cast<analysis::SiteKind>(kind))) count += (*counts.total.sync_points)[kind];
  }
  entry.sync_point_count = count;
  return absl::OkStatus();
}

std::string Joined(const std::vector<std::string>& programs) {
  std::string text;
  for (const std::string& program : programs) text += (text.empty() ? "" : ", ") + Displayable(program);
  return text.empty() ? "unknown" : text;
}

std::string AsTable(const std::vector<Entry>& entries) {
  std::string text =
      fmt::format("{:<13}  {:<19}  {:>10}  {:>11}  {}\n", "uuid", "date (UTC)", "size", "sync points", "program");
  for (const Entry& entry : entries) {
    const std::string name = entry.recording.is_spool ? "spools" : entry.recording.uuid.substr(0, kShownUuidLength);
    const std::string count = entry.sync_point_count ? FormatCount(*entry.sync_point_count) : "unknown";
    text += fmt::format("{:<13}  {:<19}  {:>10}  {:>11}  {}\n", name, FormatUtc(entry.recording.date_ns),
                        FormatBytes(entry.recording.bytes), count,
                        entry.problem.empty() ? Joined(entry.programs) : Displayable(entry.problem));
  }
  return text;
}

absl::StatusOr<std::string> AsJson(const std::vector<Entry>& entries) {
  std::string json;
  JsonWriter writer(&json, 2);
  writer.BeginArray();
  for (const Entry& entry : entries) {
    writer.BeginObject();
    writer.Field("kind", entry.recording.is_spool ? "spools" : "capture");
    writer.Field("uuid", entry.recording.is_spool ? std::optional<std::string>() : entry.recording.uuid);
    writer.Field("path", entry.recording.path);
    writer.Field("bytes", entry.recording.bytes);
    writer.Field("started_realtime_ns", entry.started_ns);
    writer.Field("modified_realtime_ns", entry.recording.modified_ns);
    writer.Field("sync_point_count", entry.sync_point_count);
    writer.Key("programs");
    writer.BeginArray();
    for (const std::string& program : entry.programs) writer.String(program);
    writer.EndArray();
    writer.Field("problem", entry.problem.empty() ? std::optional<std::string>() : entry.problem);
    writer.EndObject();
  }
  writer.EndArray();
  SH_RETURN_IF_ERROR(writer.Finish());
  return json;
}

// What became of spools that are still there.
std::string StateOfSpools(const Recording& spools, const std::vector<Recording>& recordings) {
  if (spools.is_live) return "still recording";
  const absl::StatusOr<std::string> uuid = capture::SpoolsUuid({spools.path});
  const bool has_capture =
      uuid.ok() && std::any_of(recordings.begin(), recordings.end(), [&](const Recording& recording) {
        return !recording.is_spool && recording.uuid == *uuid;
      });
  return has_capture ? fmt::format("kept beside the capture {}", uuid->substr(0, kShownUuidLength)) : "no capture made";
}

absl::StatusOr<int> RunCapturesCommand(bool json, CommandContext& context) {
  const std::string home = HomeFolder();
  std::vector<Entry> entries;
  SH_ASSIGN_OR_RETURN(const std::vector<Recording> recordings, ListRecordings(home));
  for (const Recording& recording : recordings) {
    Entry& entry = entries.emplace_back();
    entry.recording = recording;
    if (entry.recording.is_spool) {
      entry.problem = StateOfSpools(recording, recordings) + ": " + recording.path;
      continue;
    }
    const absl::Status status = Describe(entry, context.console);
    SH_RETURN_IF_ERROR(CheckInterrupt());
    if (!status.ok()) entry.problem = std::string(status.message());
  }
  if (json) {
    SH_ASSIGN_OR_RETURN(const std::string text, AsJson(entries));
    context.console.Out(text);
  } else if (entries.empty()) {
    context.console.Note(fmt::format("{} holds no captures; `stallhound hunt -- COMMAND` makes one", home));
  } else {
    context.console.Out(AsTable(entries));
  }
  return kExitFine;
}

}  // namespace

void AddCapturesCommand(CommandRegistry& registry) {
  auto json = std::make_shared<bool>(false);
  CLI::App* command = registry.Add(
      {
          .name = "captures",
          .summary = "List the captures of the home",
          .usage = "[options]",
          .details = kDetails,
      },
      [json](CommandContext& context) { return RunCapturesCommand(*json, context); });
  command->add_flag("--json", *json, "One JSON array instead of a table");
}

}  // namespace stallhound::cli
