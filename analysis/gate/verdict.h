#pragma once

// What a gate answers, and why. Values only.

#include <cstdint>
#include <span>
#include <string_view>

namespace stallhound::analysis::gate {

enum class Answer : uint8_t {
  kPass,
  kRegressed,     // proven: fails a build
  kImproved,      // proven
  kSuspect,       // a change that nothing has confirmed: never fails a build
  kInconclusive,  // this data cannot tell
};

enum class Reason : uint8_t {
  // Counts.
  kCountsEqual,
  kCountRose,
  kCountFell,
  kRangesOverlap,       // an unstable count whose ranges on both sides overlap
  kBecameUnstable,      // constant in the baseline, now sometimes higher
  kNoSteadyIterations,  // no two consecutive iterations alike without loading, autotuning or allocator growth
  kWindowTooShort,      // fewer steady iterations than kLeastIterationCount
  kNotRecorded,         // one side does not hold events of that kind
  kDataLost,            // events of that kind were lost in the measured iterations
  // Times.
  kNoChangeSeen,            // the screen found nothing
  kAwaitsConfirmation,      // the screen found a change; fresh rounds must confirm it
  kStoredRunsOnly,          // the same, but there are no interleaved rounds that could confirm it
  kNotConfirmed,            // fresh rounds do not show the change
  kIntervalOverlapsBudget,  // fresh rounds show a change, perhaps within the budget
  kConfirmedSlower,
  kConfirmedFaster,
  kTooFewRounds,
  kClocks,            // the SM clocks of the two sides differ, and may be the cause
  kClockNotRecorded,  // some rounds have SM clocks, others have none
  kTooNoisy,          // no change was found, but even one of more than kMostUnseenRatio need not have been
  kClockTooCoarse,    // what was seen may come from times being whole nanoseconds
  // Both.
  kEnvironmentDiffers,  // the comparability keys are not equal
};

// "pass", "regressed", "improved", "suspect", "inconclusive".
std::string_view AnswerName(Answer answer);

// Kebab-case, stable across releases: "count-rose", "too-few-rounds".
std::string_view ReasonName(Reason reason);

// The answer for all of them: the first of regressed, inconclusive, suspect, improved that occurs, else pass.
Answer Overall(std::span<const Answer> answers);

}  // namespace stallhound::analysis::gate
