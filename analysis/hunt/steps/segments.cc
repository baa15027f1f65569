#include "analysis/hunt/steps/segments.h"

#include <algorithm>

namespace stallhound::analysis {
namespace {

template <typename Get>
int64_t MedianOfSame(const std::vector<Segment>& segments, Get&& get) {
  std::vector<int64_t> values;
  for (const Segment& segment : segments) {
    if (segment.similarity >= kSameStepRatio) values.push_back(get(segment));
  }
  if (values.empty()) return 0;
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

struct Typical {
  int64_t duration_ns;
  int64_t wait_count;
  int64_t growth_count;
};

bool IsSteady(const Segment& segment, const Typical& typical) {
  return segment.similarity >= kSameStepRatio && segment.growth_count <= typical.growth_count;
}

bool CanBeFirst(const Segment& segment, const Typical& typical) {
  return IsSteady(segment, typical) && segment.wait_count == typical.wait_count &&
         segment.end_ns - segment.start_ns < 2 * typical.duration_ns;
}

void TakeAwayEnds(std::vector<Segment>& segments) {
  constexpr double kStepRatio = 0.5;
  const auto is_step = [](const Segment& segment) { return segment.similarity >= kStepRatio; };
  const auto last = std::find_if(segments.rbegin(), segments.rend(), is_step).base();
  segments.erase(last, segments.end());
  segments.erase(segments.begin(), std::find_if(segments.begin(), segments.end(), is_step));
}

}  // namespace

std::optional<int64_t> JudgeSegments(std::vector<Segment>& segments) {
  TakeAwayEnds(segments);
  const Typical typical{
      MedianOfSame(segments, [](const Segment& segment) { return segment.end_ns - segment.start_ns; }),
      MedianOfSame(segments, [](const Segment& segment) { return segment.wait_count; }),
      MedianOfSame(segments, [](const Segment& segment) { return segment.growth_count; }),
  };
  size_t first = 0;
  while (first + 1 < segments.size() &&
         !(CanBeFirst(segments[first], typical) && CanBeFirst(segments[first + 1], typical))) {
    ++first;
  }
  if (first + 1 >= segments.size()) return std::nullopt;
  std::vector<int64_t> periods_ns;
  for (size_t i = 0; i < segments.size(); ++i) {
    segments[i].role = i < first                        ? StepRole::kWarmUp
                       : IsSteady(segments[i], typical) ? StepRole::kSteady
                                                        : StepRole::kOther;
    if (i > first && segments[i].role == StepRole::kSteady && segments[i - 1].role == StepRole::kSteady) {
      periods_ns.push_back(segments[i].start_ns - segments[i - 1].start_ns);
    }
  }
  std::nth_element(periods_ns.begin(), periods_ns.begin() + periods_ns.size() / 2, periods_ns.end());
  return periods_ns[periods_ns.size() / 2];
}

}  // namespace stallhound::analysis
