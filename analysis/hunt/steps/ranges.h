#pragma once

// Finds the range that marks steps: one that repeats, alone or with a number in its name, and holds nearly all work.

#include <absl/status/statusor.h>

#include <string>
#include <vector>

#include "analysis/hunt/steps/segments.h"
#include "analysis/hunt/steps/submissions.h"
#include "capture/reader.h"

namespace stallhound::analysis {

struct RangeOccurrence {
  int64_t start_ns = 0;
  int64_t end_ns = 0;
};

// Ranges of one process whose names differ at most in numbers.
struct RangeGroup {
  std::string name;  // numbers as "#": "Step #"
  bool is_step_like = false;
  std::vector<RangeOccurrence> occurrences;  // by start
};

using RangeGroups = absl::flat_hash_map<uint32_t, std::vector<RangeGroup>>;  // by process

// All ranges but operators, marks and Python functions. Memory: 16 bytes a range. Errors: those of the reader.
absl::StatusOr<RangeGroups> ReadRangeGroups(capture::CaptureReader& reader);

struct RangeSteps {
  std::vector<Segment> segments;  // by time; empty: none found
  std::string name;
  double explained_ratio = 0;  // of the submissions from the first to the last occurrence, the part inside steps
};

// The group to take as steps. Groups that name steps (step, iter, batch) are preferred, then the longest occurrences.
RangeSteps FindRangeSteps(const std::vector<RangeGroup>& groups, const ProcessSubmissions& process,
                          const std::vector<Token>& tokens);

}  // namespace stallhound::analysis
