#pragma once

// --steps and --skip: measure inside the steps that a recording is found to have.

#include <absl/status/statusor.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>

#include "analysis/hunt/steps/steps.h"

namespace stallhound::cli {

struct StepOptions {
  std::string steps;  // "auto", "none" or "A-B"; empty: not given
  std::optional<int64_t> skip_count;
};

void AddStepOptions(CLI::App& command, StepOptions& options);

// What to measure; nothing without --steps and --skip, or with "none". Errors: usage, also if `range` is not empty.
absl::StatusOr<std::optional<analysis::StepSelection>> SelectSteps(const StepOptions& options,
                                                                   const std::string& range);

}  // namespace stallhound::cli
