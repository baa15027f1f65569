// Prints how well steps are found without their marks, for files of other tools and spools:
//   bazel run //analysis/testing:steps_evaluation -- FILE...

#include <fmt/format.h>

#include <cstdio>
#include <memory>

#include "analysis/testing/hidden_steps.h"
#include "base/units.h"
#include "capture/import/importer.h"
#include "capture/spool/reader.h"

namespace stallhound::analysis {
namespace {

std::string Describe(const StepMeasure& measure) {
  if (measure.step_count == 0) return "none: " + measure.how;
  return fmt::format("{} x {}, {} sync points ({})", measure.step_count, FormatDuration(measure.period_ns),
                     measure.sync_point_count, measure.how);
}

void Compare(const std::string& name, capture::CaptureReader& reader) {
  const absl::StatusOr<HiddenSteps> steps = CompareHiddenSteps(reader);
  if (!steps.ok()) {
    fmt::print("{}: {}\n", name, std::string(steps.status().message()));
    return;
  }
  const bool is_scored = steps->marked.step_count > 0 && steps->marked.how.starts_with("nvtx");
  const char* verdict = !is_scored                     ? "no marks"
                        : steps->found.step_count == 0 ? "not found"
                        : !steps->period_agrees()      ? "WRONG period"
                        : !steps->counts_agree()       ? "WRONG counts"
                                                       : "right";
  fmt::print("{}: {}\n  marked: {}\n  hidden: {}\n", name, verdict, Describe(steps->marked), Describe(steps->found));
}

}  // namespace
}  // namespace stallhound::analysis

int main(int argc, char** argv) {
  using stallhound::analysis::Compare;
  for (int i = 1; i < argc; ++i) {
    const std::string path = argv[i];
    if (stallhound::capture::IsSpool(path)) {
      auto reader = stallhound::capture::OpenSpools({path});
      if (reader.ok()) Compare(path, **reader);
      continue;
    }
    auto foreign = stallhound::capture::OpenForeign(path, {});
    if (!foreign.ok()) {
      std::fprintf(stderr, "%s: %s\n", path.c_str(), std::string(foreign.status().message()).c_str());
      continue;
    }
    for (auto& file : foreign->files) {
      if (file.capture != nullptr) Compare(path + ":" + file.name, *file.capture);
    }
  }
  return 0;
}
