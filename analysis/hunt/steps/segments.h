#pragma once

// Spans of host time that may be steps, and which of them are steady.

#include <cstdint>
#include <optional>
#include <vector>

#include "analysis/hunt/steps/submissions.h"

namespace stallhound::analysis {

// Two steps with at least this part of their submissions in common are steps of one kind.
inline constexpr double kSameStepRatio = 0.9;

enum class StepRole : uint8_t { kSteady, kWarmUp, kOther };

struct Segment {
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  int64_t submission_count = 0;
  double similarity = 0;  // to the typical segment
  int32_t wait_count = 0;
  int32_t growth_count = 0;
  StepRole role = StepRole::kOther;
};

// Decides the roles. Warm-up: the segments before the first two that have the typical content and number of waits, no
// more allocation and loading than is usual, and less than twice the median time. Of the later ones those with other
// content, or more allocation and loading, are kOther. Segments with less than half of the typical content at either
// end are no steps and are taken away. Returns the median time from start to start of neighbouring steady segments,
// nothing if fewer than two are steady.
std::optional<int64_t> JudgeSegments(std::vector<Segment>& segments);

}  // namespace stallhound::analysis
