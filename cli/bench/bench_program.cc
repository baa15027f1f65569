#include "cli/bench/bench_program.h"

#include <absl/strings/str_join.h>
#include <absl/strings/str_split.h>
#include <fmt/format.h>
#include <string.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <vector>

#include "base/file.h"
#include "base/status_macros.h"
#include "base/units.h"
#include "cli/bench/scratch_folder.h"
#include "cli/child.h"
#include "cli/exit_code.h"
#include "cli/interrupt.h"

namespace stallhound::cli {
namespace {

constexpr size_t kQuotedLineCount = 5;

// Of a pass, what cannot change from one to the next of one program on one machine.
constexpr const char* kSteadyContext[] = {"stallhound_device", "device_name", "driver_version",
                                          "torch_version",     "compiler",    "build_flags"};

// What the bench ends with where cases failed: the gravest of them.
constexpr int kCodesOfCases[] = {kExitUsage, kExitData, kExitEnvironment, kExitInternal};

std::vector<std::string> Arguments(const BenchProgram& program, const BenchPass& pass, const ScratchFolder& folder) {
  std::vector<std::string> argv = {
      program.binary,
      "--benchmark_filter=" + FilterOfNames(program.filter),
      "--benchmark_out=" + folder.File("result.json"),
      "--benchmark_out_format=json",
      "--stallhound_samples=" + folder.File("samples.jsonl"),
  };
  if (pass.record_iterations) {
    argv.push_back(fmt::format("--stallhound_record_iterations={}", *pass.record_iterations));
  } else if (program.min_time_ns) {
    argv.push_back(fmt::format("--stallhound_min_time={}ns", *program.min_time_ns));
  }
  if (!pass.check) argv.push_back("--stallhound_check=false");
  return argv;
}

std::string LastLines(const std::string& path) {
  const absl::StatusOr<std::string> text = ReadFile(path);
  if (!text.ok()) return "";
  std::vector<std::string> lines = absl::StrSplit(*text, '\n', absl::SkipWhitespace());
  if (lines.size() > kQuotedLineCount) lines.erase(lines.begin(), lines.end() - kQuotedLineCount);
  return lines.empty() ? "" : "; it said last:\n  " + absl::StrJoin(lines, "\n  ");
}

// Looked at behind the pass: before it somebody could still come in between.
absl::Status CheckIsSameProgram(const BenchProgram& program, const BenchPass& pass) {
  if (!program.identity || IdentityOf(program.binary) == program.identity) return absl::OkStatus();
  return absl::FailedPreconditionError(
      fmt::format("measuring with '{}', {}: the file was replaced or changed since the first pass, and passes of two "
                  "programs are no run (hint: don't build while it is measured, or measure a copy)",
                  program.binary, pass.name));
}

absl::Status CheckIsSameContext(const BenchProgram& program, const BenchPass& pass, const BenchOutput& output) {
  if (program.context.empty()) return absl::OkStatus();
  for (const char* key : kSteadyContext) {
    const auto before = program.context.find(key), now = output.context.find(key);
    const std::string was = before == program.context.end() ? "" : before->second;
    const std::string is = now == output.context.end() ? "" : now->second;
    if (was == is) continue;
    return absl::FailedPreconditionError(
        fmt::format("measuring with '{}', {}: its {} is '{}', and in the first round it was '{}'; rounds of both are "
                    "no run (hint: measure again when nothing is installed meanwhile)",
                    program.binary, pass.name, key, is, was));
  }
  return absl::OkStatus();
}

// A case that failed is a row, and the code of the bench's end says the same. What else it says is of no row.
bool IsExplained(int exit_code, const BenchOutput& output) {
  if (exit_code == kExitFine) return true;
  const bool is_of_cases =
      std::find(std::begin(kCodesOfCases), std::end(kCodesOfCases), exit_code) != std::end(kCodesOfCases);
  return is_of_cases &&
         std::any_of(output.rows.begin(), output.rows.end(), [](const BenchRow& row) { return row.error.has_value(); });
}

// Why there is no result, or none that counts.
absl::Status FailureOf(const BenchProgram& program, const BenchPass& pass, const ChildEnd& end,
                       std::string_view explanation) {
  const std::string what = fmt::format("measuring with '{}', {}", program.binary, pass.name);
  if (end.timed_out) {
    return absl::DeadlineExceededError(
        fmt::format("{}: it was not done after {} and was ended (hint: bench.round-timeout in stallhound.toml){}", what,
                    FormatDuration(program.timeout_ns.value_or(0)), explanation));
  }
  if (end.signal) {
    return absl::DataLossError(
        fmt::format("{}: it was ended by signal {} ({}){}", what, *end.signal, strsignal(*end.signal), explanation));
  }
  const std::string message = fmt::format("{}: it ended with exit code {}{}", what, *end.exit_code, explanation);
  if (*end.exit_code == kExitUsage) return UsageError(message);
  if (*end.exit_code == kExitEnvironment) return EnvironmentError(message);
  return absl::DataLossError(message);
}

}  // namespace

absl::Status CheckBinary(const std::string& binary, std::string_view hint) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(binary, error);
  if (std::filesystem::is_regular_file(status)) return absl::OkStatus();
  if (std::filesystem::exists(status)) {
    return absl::FailedPreconditionError(
        fmt::format("measuring with '{}': it is {}, not a program (hint: {})", binary,
                    std::filesystem::is_directory(status) ? "a folder" : "no regular file", hint));
  }
  return absl::NotFoundError(fmt::format("measuring with '{}': there is no such program (hint: {})", binary, hint));
}

std::string FilterOfNames(std::string_view filter_of_ids) {
  std::string filter;
  bool is_escaped = false, is_in_brackets = false;
  for (const char c : filter_of_ids) {
    const bool is_plain = !is_escaped && !is_in_brackets;
    if (c == '$' && is_plain) filter += "(/iterations:1/manual_time)?";
    filter += c;
    is_in_brackets = is_in_brackets ? c != ']' : c == '[' && is_plain;
    is_escaped = c == '\\' && is_plain;
  }
  return filter;
}

absl::StatusOr<BenchOutput> RunBench(const BenchProgram& program, const BenchPass& pass) {
  SH_RETURN_IF_ERROR(CheckBinary(program.binary, "build it"));
  SH_ASSIGN_OR_RETURN(const ScratchFolder folder, ScratchFolder::Create());
  const std::string log_path = folder.File("output.txt");
  WatchedChild child;
  child.argv = Arguments(program, pass, folder);
  child.variables = pass.variables;
  child.output_path = log_path;
  child.timeout_ns = program.timeout_ns;
  SH_ASSIGN_OR_RETURN(const ChildEnd end, RunWatchedChild(child));
  if (end.interrupt) AskToStop(*end.interrupt);
  SH_RETURN_IF_ERROR(CheckInterrupt());
  SH_RETURN_IF_ERROR(CheckIsSameProgram(program, pass));
  const absl::StatusOr<BenchOutput> output = ReadBenchOutput(folder.File("result.json"), folder.File("samples.jsonl"));
  const std::string said = LastLines(log_path);
  if (end.timed_out || end.signal) return FailureOf(program, pass, end, said);
  const bool has_result = output.ok() && !output->rows.empty();
  if (has_result && IsExplained(*end.exit_code, *output)) {
    SH_RETURN_IF_ERROR(CheckIsSameContext(program, pass, *output));
    return output;
  }
  if (has_result) {
    return FailureOf(program, pass, end, ", though it left a result: the code is of no case that failed" + said);
  }
  if (*end.exit_code != kExitFine) return FailureOf(program, pass, end, said);
  if (output.ok()) {
    return UsageError(
        fmt::format("measuring with '{}': no case matches the filter '{}'", program.binary, program.filter));
  }
  return absl::Status(output.status().code(), fmt::format("measuring with '{}', {}: {}{}", program.binary, pass.name,
                                                          std::string(output.status().message()), said));
}

}  // namespace stallhound::cli
