#include "cli/commands/import_command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <utility>

#include "base/clock.h"
#include "base/json_writer.h"
#include "base/status_macros.h"
#include "capture/file/capture_file.h"
#include "capture/import/importer.h"
#include "cli/exit_code.h"
#include "cli/home.h"
#include "cli/interrupt.h"
#include "cli/open_recording.h"
#include "cli/progress.h"

namespace stallhound::cli {
namespace {

constexpr char kDetails[] =
    R"help(Reads traces of other tools (PyTorch Kineto / Chrome trace JSON, Nsight Systems SQLite exports) and
keeps each as a capture in the home; gzip and tar archives of ranks are read as they are. Analyses
take such files directly: import is for keeping them. Private data in them (environment, user,
host and job names) is left behind.

Examples:
  stallhound import trace.json.gz
  stallhound import --counts ranks.tar.gz | jq 'map_values(.kernels)'
  stallhound import --partial cut_off.json)help";

struct Options {
  std::vector<std::string> files;
  bool counts = false;
  capture::ImportOptions import;
};

// One line of JSON a file; members of an archive are the values of one object.
absl::Status PrintCounts(const Options& options, const std::string& path, Console& console,
                         capture::LeftOut* left_out) {
  std::string text;
  JsonWriter json(&text);
  bool in_archive = false;
  const auto count = [&](capture::ForeignFile file, bool is_archive) -> absl::Status {
    SH_ASSIGN_OR_RETURN(const capture::ImportCounts counts, capture::CountForeign(file));
    if (is_archive && !in_archive) json.BeginObject();
    in_archive = is_archive;
    if (is_archive) json.Key(file.name);
    capture::WriteJson(counts, json);
    return absl::OkStatus();
  };
  SH_RETURN_IF_ERROR(capture::ForEachForeign(path, options.import, count, left_out));
  if (in_archive) json.EndObject();
  SH_RETURN_IF_ERROR(json.Finish());
  console.Out(text + "\n");
  return absl::OkStatus();
}

// Says what was odd in a file, and what is missing.
class LossPrinter : public capture::CaptureVisitor {
 public:
  LossPrinter(const capture::StringTable& strings, Console& console) : strings_(strings), console_(console) {}
  absl::Status On(const capture::LossBatch& batch) override {
    for (size_t i = 0; i < batch.size; ++i) {
      const capture::LossCounterInfo& info = capture::Info(batch.counter[i]);
      const std::string detail = batch.detail[i] ? fmt::format(" ({})", strings_.Get(*batch.detail[i])) : "";
      const std::string text = fmt::format("{}: {}: {}{}", info.id, batch.count[i], info.meaning, detail);
      info.severity == capture::LossSeverity::kNote ? console_.Note(text) : console_.Warn(text);
    }
    return absl::OkStatus();
  }

 private:
  const capture::StringTable& strings_;
  Console& console_;
};

absl::Status Keep(capture::ForeignFile file, const std::string& home, Console& console) {
  const capture::CaptureInfo& info = file.capture->info();
  SH_ASSIGN_OR_RETURN(const std::string path, NewCapturePath(home, info.uuid, SystemClock().RealtimeNs()));
  {
    Progress progress(console, "writing the capture");
    const auto watch = [&progress](uint64_t row_count) {
      progress.Update(row_count);
      return InterruptSignal() == 0;
    };
    SH_RETURN_IF_ERROR(capture::WriteCaptureFile(*file.capture, path, watch));
  }
  console.Out(path + "\n");
  for (const std::string& note : info.notes) console.Note(note);
  LossPrinter printer(file.capture->strings(), console);
  return file.capture->Read(capture::Tables({capture::Table::kLoss}), printer);
}

absl::StatusOr<int> RunImportCommand(const Options& options, CommandContext& context) {
  const std::string home = HomeFolder();
  capture::LeftOut left_out;
  for (const std::string& path : options.files) {
    SH_RETURN_IF_ERROR(CheckNoSpool(path, "importing"));
    if (options.counts) {
      SH_RETURN_IF_ERROR(PrintCounts(options, path, context.console, &left_out));
      continue;
    }
    const auto keep = [&](capture::ForeignFile file, bool) { return Keep(std::move(file), home, context.console); };
    SH_RETURN_IF_ERROR(capture::ForEachForeign(path, options.import, keep, &left_out));
  }
  for (const std::string& message : left_out.skipped) context.console.Note(message);
  for (const std::string& message : left_out.refused) context.console.Warn(message);
  return left_out.refused.empty() ? kExitFine : kExitData;
}

}  // namespace

void AddImportCommand(CommandRegistry& registry) {
  auto options = std::make_shared<Options>();
  CLI::App* command = registry.Add(
      {
          .name = "import",
          .summary = "Turn other tools' traces into captures",
          .usage = "[options] FILE...",
          .details = kDetails,
      },
      [options](CommandContext& context) { return RunImportCommand(*options, context); });
  command->add_option("files", options->files, "Traces, compressed or not, and archives of them")
      ->required()
      ->type_name("");
  command->add_flag("--counts", options->counts, "Print what is in them as JSON and keep nothing");
  command->add_flag("--partial", options->import.partial, "Read truncated files as far as they go");
  command->add_flag("--force", options->import.force,
                    "Read files above 16 GiB, and gzip that grows more than 200 times");
}

}  // namespace stallhound::cli
