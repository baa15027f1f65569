#pragma once

// The exact gate: counts per iteration of a recorded case, compared number by number. No statistics and no tolerance:
// where the counts of both sides are constant, any rise is a regression.

#include <absl/status/statusor.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/gate/comparability.h"
#include "analysis/gate/count_range.h"
#include "analysis/gate/verdict.h"

namespace stallhound::analysis::gate {

inline constexpr int64_t kLeastIterationCount = 10;  // of a window

// What happened in one iteration besides its work; a warm-up shows by these.
struct IterationMarks {
  bool has_module_load = false;
  bool has_autotuning = false;
  bool has_allocator_growth = false;
};

// One count over all iterations of a case, in order. A name is "family" or "family:detail" ("kernel", "sync:wait",
// "copy-bytes:host-to-device pageable device").
struct CountSeries {
  std::string name;
  std::vector<int64_t> per_iteration;
};

struct RecordedCounts {
  std::vector<IterationMarks> iterations;
  std::vector<CountSeries> series;             // of one length, that of `iterations`
  std::vector<std::string> recorded_families;  // a name of these that no series has counts 0
  std::vector<std::string> lost_families;      // events lost inside the measured iterations
};

struct WindowCount {
  std::string name;
  CountRange per_iteration;
};

// The counts of a case in its steady window: what a history keeps, and what is compared.
struct WindowCounts {
  std::optional<Reason> problem;  // kNoSteadyIterations, kWindowTooShort: `counts` is empty
  int64_t first_iteration = 0;
  int64_t iteration_count = 0;
  std::vector<WindowCount> counts;
  std::vector<std::string> recorded_families;
  std::vector<std::string> lost_families;
};

// The window starts behind the first two consecutive iterations of equal counts without module load, autotuning or
// allocator growth, and ends with the last iteration. A count that differs between any two consecutive iterations can
// never settle: it does not decide where the window starts, and is unstable.
// Errors: InvalidArgument for a series of another length, a negative count or a name that occurs twice.
absl::StatusOr<WindowCounts> CountWindow(const RecordedCounts& recorded);

struct CountVerdict {
  std::string name;
  Answer answer = Answer::kInconclusive;
  Reason reason = Reason::kNotRecorded;
  std::optional<CountRange> baseline;  // per iteration; null: not recorded, or no window
  std::optional<CountRange> candidate;
};

// One verdict for each name of either side, by name; one named "counts" if no side has any, for want of a window. With
// differing environments (CompareKeys found something) all are inconclusive, and their ranges inform. Safe from any
// thread.
std::vector<CountVerdict> CompareCounts(const WindowCounts& baseline, const WindowCounts& candidate,
                                        std::span<const KeyDifference> environment);

}  // namespace stallhound::analysis::gate
