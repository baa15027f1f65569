#pragma once

// Verdicts on one case, as the history keeps them.

#include <absl/status/statusor.h>

#include <string>
#include <string_view>
#include <vector>

#include "analysis/gate/times.h"
#include "cli/gate/run_values.h"
#include "store/run.h"

namespace stallhound::cli {

store::VerdictOutcome OutcomeOf(analysis::gate::Answer answer);

// One verdict a kind of event, in the order of kinds; one of the metric "counts" where no side has steady iterations;
// none where no side was recorded. A kind has risen if its count or bytes did, or a part of them that is pageable at an
// end: copies that went from pageable to pinned memory are no rise. Errors: as CountsOf.
absl::StatusOr<std::vector<store::Verdict>> JudgeCounts(const store::BenchmarkResult& baseline,
                                                        const store::BenchmarkResult& candidate,
                                                        const EnvironmentDifference& environment);

// `times` is what `verdict` was made of.
store::Verdict TimeVerdictOf(const analysis::gate::TimeVerdict& verdict, const analysis::gate::CaseRounds& times);

}  // namespace stallhound::cli
