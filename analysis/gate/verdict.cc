#include "analysis/gate/verdict.h"

#include <algorithm>

namespace stallhound::analysis::gate {

std::string_view AnswerName(Answer answer) {
  switch (answer) {
    case Answer::kPass:
      return "pass";
    case Answer::kRegressed:
      return "regressed";
    case Answer::kImproved:
      return "improved";
    case Answer::kSuspect:
      return "suspect";
    case Answer::kInconclusive:
      return "inconclusive";
  }
  return "";
}

std::string_view ReasonName(Reason reason) {
  switch (reason) {
    case Reason::kCountsEqual:
      return "counts-equal";
    case Reason::kCountRose:
      return "count-rose";
    case Reason::kCountFell:
      return "count-fell";
    case Reason::kRangesOverlap:
      return "ranges-overlap";
    case Reason::kBecameUnstable:
      return "became-unstable";
    case Reason::kNoSteadyIterations:
      return "no-steady-iterations";
    case Reason::kWindowTooShort:
      return "window-too-short";
    case Reason::kNotRecorded:
      return "not-recorded";
    case Reason::kDataLost:
      return "data-lost";
    case Reason::kNoChangeSeen:
      return "no-change-seen";
    case Reason::kAwaitsConfirmation:
      return "awaits-confirmation";
    case Reason::kStoredRunsOnly:
      return "stored-runs-only";
    case Reason::kNotConfirmed:
      return "not-confirmed";
    case Reason::kIntervalOverlapsBudget:
      return "interval-overlaps-budget";
    case Reason::kConfirmedSlower:
      return "confirmed-slower";
    case Reason::kConfirmedFaster:
      return "confirmed-faster";
    case Reason::kTooFewRounds:
      return "too-few-rounds";
    case Reason::kClocks:
      return "clocks";
    case Reason::kClockNotRecorded:
      return "clock-not-recorded";
    case Reason::kTooNoisy:
      return "too-noisy";
    case Reason::kClockTooCoarse:
      return "clock-too-coarse";
    case Reason::kEnvironmentDiffers:
      return "environment-differs";
  }
  return "";
}

Answer Overall(std::span<const Answer> answers) {
  for (const Answer answer : {Answer::kRegressed, Answer::kInconclusive, Answer::kSuspect, Answer::kImproved}) {
    if (std::find(answers.begin(), answers.end(), answer) != answers.end()) return answer;
  }
  return Answer::kPass;
}

}  // namespace stallhound::analysis::gate
