#include "cli/recording_options.h"

#include <absl/strings/match.h>
#include <absl/strings/numbers.h>
#include <absl/strings/str_split.h>
#include <fmt/format.h>
#include <stdlib.h>

#include <CLI/CLI.hpp>

#include "base/status_macros.h"
#include "base/units.h"
#include "cli/exit_code.h"
#include "record/control/environment.h"

namespace stallhound::cli {
namespace {

constexpr char kGroup[] = "Recording";

absl::Status AddDuration(const char* option, const std::string& text, const char* variable, Variables& variables) {
  if (text.empty()) return absl::OkStatus();
  const absl::StatusOr<int64_t> duration_ns = ParseDuration(text);
  if (!duration_ns.ok()) {
    return UsageError(fmt::format("{}: {}", option, std::string(duration_ns.status().message())));
  }
  variables.emplace_back(variable, fmt::format("{}", *duration_ns));
  return absl::OkStatus();
}

absl::Status AddMaxSpool(const std::string& text, Variables& variables) {
  if (text.empty()) return absl::OkStatus();
  const absl::StatusOr<uint64_t> bytes = ParseBytes(text);
  if (!bytes.ok()) return UsageError(fmt::format("--max-spool: {}", std::string(bytes.status().message())));
  if (*bytes < kSmallestSpoolBytes) {
    return UsageError(
        fmt::format("--max-spool: '{}' is less than the smallest spool, {}", text, FormatBytes(kSmallestSpoolBytes)));
  }
  variables.emplace_back(record::kMaxSpoolBytes, fmt::format("{}", *bytes));
  return absl::OkStatus();
}

// "10-20", both from 1 on.
absl::Status AddSteps(const RecordingOptions& options, Variables& variables) {
  if (options.window_steps.empty()) return absl::OkStatus();
  if (options.window_range.empty()) {
    return UsageError("--window-steps counts occurrences of a range: give --window-range NAME too");
  }
  const std::vector<std::string> ends = absl::StrSplit(options.window_steps, '-');
  int64_t first = 0;
  int64_t last = 0;
  const bool parses = ends.size() == 2 && absl::SimpleAtoi(ends[0], &first) && absl::SimpleAtoi(ends[1], &last);
  if (!parses || first < 1 || last < first) {
    return UsageError(
        fmt::format("--window-steps: '{}' is not FIRST-LAST, such as 10-20, counted from 1", options.window_steps));
  }
  variables.emplace_back(record::kWindowSteps, options.window_steps);
  return absl::OkStatus();
}

}  // namespace

void AddRecordingOptions(CLI::App& command, RecordingOptions& options) {
  command
      .add_option("--mode", options.mode,
                  "light: sync points and copies; default: kernels too, so costs; full: all calls")
      ->check(CLI::IsMember({"light", "default", "full"}))
      ->capture_default_str()
      ->type_name("MODE")
      ->group(kGroup);
  command.add_option("--max-spool", options.max_spool, "Stop recording a process beyond this size (default 4GiB)")
      ->type_name("SIZE")
      ->group(kGroup);
  command.add_option("--last", options.last, "Keep only the last part of the run")->type_name("TIME")->group(kGroup);
  command.add_option("--delay", options.delay, "Start so long after CUDA's initialisation")
      ->type_name("TIME")
      ->group(kGroup);
  command.add_option("--duration", options.duration, "Stop so long after the start of recording")
      ->type_name("TIME")
      ->group(kGroup);
  command.add_option("--window-range", options.window_range, "Record only inside NVTX ranges of this name")
      ->type_name("NAME")
      ->group(kGroup);
  command.add_option("--window-steps", options.window_steps, "Only these occurrences of --window-range, from 1 on")
      ->type_name("FIRST-LAST")
      ->group(kGroup);
  command.add_flag("--window-api", options.window_api, "Record only between cudaProfilerStart and cudaProfilerStop")
      ->group(kGroup);
  command.add_flag("--yield-to-profiler", options.yield_to_profiler, "Leave CUPTI to another profiler")->group(kGroup);
  command
      .add_flag("--operators", options.operators,
                "PyTorch: name operators, and the forward lines of a backward's waits")
      ->group(kGroup);
  command.add_flag("--record-argv", options.record_argv, "Store the program's command line")->group(kGroup);
}

std::vector<std::string> GivenRecordingOptions(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_group() == kGroup && option->count() > 0) names.push_back(option->get_name());
  }
  return names;
}

absl::StatusOr<Variables> RecordingVariables(const RecordingOptions& options, const std::string& recorder,
                                             const std::string& spool_folder) {
  Variables variables = {
      {record::kCudaInjection, recorder},
      {record::kNvtxInjection, recorder},
      {record::kSpoolDirectory, spool_folder},
      {record::kMode, options.mode},
  };
  SH_RETURN_IF_ERROR(AddMaxSpool(options.max_spool, variables));
  SH_RETURN_IF_ERROR(AddDuration("--last", options.last, record::kLastNs, variables));
  SH_RETURN_IF_ERROR(AddDuration("--delay", options.delay, record::kDelayNs, variables));
  SH_RETURN_IF_ERROR(AddDuration("--duration", options.duration, record::kDurationNs, variables));
  if (!options.window_range.empty()) variables.emplace_back(record::kWindowRange, options.window_range);
  SH_RETURN_IF_ERROR(AddSteps(options, variables));
  if (options.window_api) variables.emplace_back(record::kWindowApi, "1");
  if (options.yield_to_profiler) variables.emplace_back(record::kYield, "1");
  if (options.record_argv) variables.emplace_back(record::kRecordArgv, "1");
  return variables;
}

std::vector<std::string> ResolveInjectionConflicts(const RecordingOptions& options, Variables& variables) {
  std::vector<std::string> warnings;
  std::erase_if(variables, [&](const auto& variable) {
    const auto& [name, value] = variable;
    const char* present = getenv(name.c_str());
    const bool is_injection = name == record::kCudaInjection || name == record::kNvtxInjection;
    if (!is_injection || present == nullptr || *present == '\0' || value == present) return false;
    // Another copy of our recorder, of an enclosing hunt: the inner one takes over without a word.
    if (absl::EndsWith(present, "/libstallhound_record.so")) return false;
    if (options.yield_to_profiler) {
      warnings.push_back(
          fmt::format("{} is '{}' already and stays so (--yield-to-profiler): this part of the "
                      "program is not recorded",
                      name, present));
      return true;
    }
    warnings.push_back(
        fmt::format("{} was '{}': for this program the recorder takes its place, so that tool sees "
                    "nothing (--yield-to-profiler leaves it there)",
                    name, present));
    return false;
  });
  return warnings;
}

}  // namespace stallhound::cli
