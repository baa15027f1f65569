#include "cli/commands/query_command.h"

#include <absl/strings/match.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_join.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>

#include "base/status_macros.h"
#include "capture/file/query.h"
#include "cli/exit_code.h"
#include "cli/history.h"
#include "cli/home.h"
#include "cli/interrupt.h"
#include "cli/open_recording.h"
#include "cli/query_output.h"

namespace stallhound::cli {
namespace {

constexpr char kDetails[] =
    R"help(Runs one SELECT (or WITH, VALUES, EXPLAIN) over captures and the history of benchmark runs; nothing is
written. Without CAPTURE it is the newest one of the home, if there is one; CAPTURE is a file or the
beginning of a uuid. The captures are attached as c1, c2, ..., the history as history; a table without a
prefix is that of the first that has it. The view v_TABLE of a capture shows numbers of strings and
enumerations as text; v_run, v_point and v_benchmark_count are the history's. Times in captures are ns
since the capture's start.

Examples:
  stallhound query 'SELECT benchmark, kernel_count, wait_count, host_to_device_bytes
                    FROM v_benchmark_count WHERE is_last_run'
  stallhound query 'SELECT name FROM c1.sqlite_schema'
  stallhound query "SELECT api, count(*) AS calls, sum(end_ns - start_ns) / 1e6 AS ms
                    FROM v_host_call GROUP BY api ORDER BY ms DESC LIMIT 10"
  stallhound query --format csv 'SELECT * FROM v_copy' run.stallhound > copies.csv
  stallhound query 'SELECT (SELECT count(*) FROM c1.kernel), (SELECT count(*) FROM c2.kernel)' a1b2 c3d4)help";

struct QueryOptions {
  std::string sql;
  std::vector<std::string> captures;
  std::string format = "table";
};

// What was asked for may be the history's.
absl::Status WithoutHistory(const absl::Status& status) {
  return absl::Status(status.code(),
                      absl::StrCat(status.message(),
                                   "; there is no history of benchmark runs either, which v_run, v_point "
                                   "and v_benchmark_count are of (`stallhound bench` makes it)"));
}

absl::StatusOr<int> RunQueryCommand(const QueryOptions& options, CommandContext& context) {
  const std::string home = HomeFolder();
  capture::QueryRequest request;
  request.sql = options.sql;
  request.should_stop = [] { return InterruptSignal() != 0; };
  for (const std::string& text : options.captures) {
    SH_ASSIGN_OR_RETURN(std::string path, FindCapture(home, text));
    SH_RETURN_IF_ERROR(CheckNoSpool(path, "querying"));
    request.captures.push_back(std::move(path));
  }
  std::error_code error;
  if (const std::string path = HistoryPath(home); std::filesystem::exists(path, error)) {
    // The same checks and messages as of every other command that reads it.
    SH_RETURN_IF_ERROR(OpenHomeHistory(store::Access::kRead, context.console).status());
    request.database = capture::QueryDatabase{path, "history"};
  }
  if (request.captures.empty()) {
    absl::StatusOr<std::string> newest = NewestCapture(home);
    if (newest.ok()) {
      request.captures.push_back(*std::move(newest));
    } else if (!absl::IsNotFound(newest.status())) {
      return newest.status();
    } else if (!request.database) {
      return WithoutHistory(newest.status());
    }
  }
  std::vector<std::string> unrecorded;
  request.on_unrecorded = [&](const capture::UnrecordedTables& tables) {
    unrecorded.push_back(absl::StrCat(tables.schema, " did not record ", absl::StrJoin(tables.tables, ", ")));
  };
  const std::unique_ptr<QueryOutput> output = MakeQueryOutput(options.format, context.console);
  absl::Status status = capture::RunQuery(request, *output);
  if (!request.database && absl::StrContains(status.message(), "no such table")) status = WithoutHistory(status);
  SH_RETURN_IF_ERROR(status);
  SH_RETURN_IF_ERROR(output->Finish());
  if (!unrecorded.empty()) {
    context.console.Note(absl::StrCat(absl::StrJoin(unrecorded, "; "), ": no rows there is unknown, not none"));
  }
  return kExitFine;
}

}  // namespace

void AddQueryCommand(CommandRegistry& registry) {
  auto options = std::make_shared<QueryOptions>();
  CLI::App* command = registry.Add(
      {
          .name = "query",
          .summary = "Ask captures and the history by SQL",
          .usage = "[options] SQL [CAPTURE...]",
          .details = kDetails,
      },
      [options](CommandContext& context) { return RunQueryCommand(*options, context); });
  command->add_option("sql", options->sql, "The statement")->required()->type_name("");
  command->add_option("captures", options->captures, "Files, or beginnings of uuids")->type_name("");
  command->add_option("--format", options->format, "table, csv or json")
      ->check(CLI::IsMember({"table", "csv", "json"}))
      ->capture_default_str()
      ->type_name("FORMAT");
}

}  // namespace stallhound::cli
