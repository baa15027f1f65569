#pragma once

// What interleaved rounds have said of two runs before: without fresh rounds it still stands. Pure functions, safe from
// any thread.

#include <span>
#include <string>
#include <vector>

#include "store/run.h"

namespace stallhound::cli {

// Verdicts that fresh rounds gave on times, in judgements of a run against that baseline alone by this rule version:
// the newest of each case and metric, acknowledgements of then taken back. `judgements` are of one run, newest first.
std::vector<store::Verdict> ConfirmedVerdicts(std::span<const store::Judgement> judgements,
                                              const std::string& baseline_uuid);

// What a verdict is given by now.
struct StandingRule {
  double budget_ratio = 0;
  double q = 0;
};

// The one of `confirmed` on the case and metric of `verdict`, if its numbers still give its outcome by `rule`; else
// null.
const store::Verdict* FindStanding(const store::Verdict& verdict, std::span<const store::Verdict> confirmed,
                                   const StandingRule& rule);

}  // namespace stallhound::cli
