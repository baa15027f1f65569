#pragma once

// Finds the step of a sequence: a submission (or a run of a few) that occurs once a step, at every step.

#include <optional>
#include <string>
#include <vector>

#include "analysis/hunt/steps/segments.h"
#include "analysis/hunt/steps/submissions.h"

namespace stallhound::analysis {

struct SequenceSteps {
  std::vector<Segment> segments;  // by time; empty: none found
  double explained_ratio = 0;     // of the submissions from the first to the last repetition
  std::string reason;             // why none was found
};

// Cost: a few passes over the sequence, n log n with the number of different submissions. Memory: 48 bytes for each of
// these (at most 2^18 runs), 0.3 MB a candidate (at most 64), and 64 bytes a step.
SequenceSteps FindSequenceSteps(const ProcessSubmissions& process, const std::vector<Token>& tokens);

}  // namespace stallhound::analysis
