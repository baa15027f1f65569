#include "bench/options.h"

#include <fmt/format.h>

#include <string_view>

#include "base/status_macros.h"
#include "base/units.h"

namespace stallhound::bench {
namespace {

constexpr std::string_view kPrefix = "--stallhound_";
constexpr std::string_view kOut = "--benchmark_out=";

absl::Status Refuse(std::string_view argument, std::string_view why) {
  return absl::InvalidArgumentError(fmt::format("cannot take {}: {}", argument, why));
}

absl::Status TakeOption(std::string_view argument, Options* options) {
  const size_t equals = argument.find('=');
  const std::string_view name = argument.substr(kPrefix.size(), equals - kPrefix.size());
  const std::string_view value = equals == std::string_view::npos ? "" : argument.substr(equals + 1);
  if (name == "device") {
    if (value != "cpu" && value != "cuda") return Refuse(argument, "the device is cpu or cuda");
    options->device = value == "cpu" ? kernels::Device::kCpu : kernels::Device::kCuda;
  } else if (name == "samples") {
    if (value.empty()) return Refuse(argument, "a path must follow");
    options->samples_path = value;
  } else if (name == "record_iterations") {
    options->record_iterations = ParseInteger(value);
    if (options->record_iterations.value_or(0) < 1) return Refuse(argument, "a number of at least 1 must follow");
  } else if (name == "min_time") {
    const absl::StatusOr<int64_t> min_time_ns = ParseDuration(value);
    if (!min_time_ns.ok() || *min_time_ns < 1) return Refuse(argument, "a time such as 50ms must follow");
    options->min_time_ns = *min_time_ns;
  } else if (name == "check") {
    if (value != "true" && value != "false") return Refuse(argument, "true or false must follow");
    options->check = value == "true";
  } else {
    return Refuse(argument,
                  "there are --stallhound_device, --stallhound_samples, --stallhound_record_iterations, "
                  "--stallhound_min_time and --stallhound_check");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Options> TakeOptions(int* argc, char** argv) {
  Options options;
  std::optional<std::string> out_path;
  int kept = 1;
  for (int i = 1; i < *argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument.substr(0, kPrefix.size()) == kPrefix) {
      SH_RETURN_IF_ERROR(TakeOption(argument, &options));
      continue;
    }
    if (argument.substr(0, kOut.size()) == kOut) out_path = argument.substr(kOut.size());
    argv[kept++] = argv[i];
  }
  *argc = kept;
  argv[kept] = nullptr;
  if (!options.samples_path && out_path && !out_path->empty()) options.samples_path = *out_path + ".samples.jsonl";
  return options;
}

}  // namespace stallhound::bench
