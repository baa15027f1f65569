#pragma once

#include <absl/status/statusor.h>

#include <optional>

#include "analysis/gate/times.h"

namespace stallhound::analysis::gate {

// What the SM clocks of both sides allow to say.
struct ClockJudgement {
  std::optional<double> ratio;     // median of the candidate over median of the baseline
  std::optional<Reason> obstacle;  // no verdict on times is possible
  bool needs_cycles = false;       // a verdict on times must hold in cycles too
};

// No round has a clock: there is nothing to judge. Some have and some have not: clock-not-recorded. Errors:
// InvalidArgument for a clock that is not positive and finite.
absl::StatusOr<ClockJudgement> JudgeClocks(const CaseRounds& rounds);

}  // namespace stallhound::analysis::gate
