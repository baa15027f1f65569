#include "analysis/testing/hidden_steps.h"

#include <algorithm>
#include <vector>

#include "analysis/hunt/measured.h"
#include "analysis/hunt/steps/steps.h"
#include "analysis/hunt/sync_points.h"
#include "base/status_macros.h"

namespace stallhound::analysis {
namespace {

using capture::Table;

absl::StatusOr<std::vector<SyncPoint>> SyncPoints(capture::CaptureReader& reader) {
  Directory directory(reader, std::nullopt);
  SH_RETURN_IF_ERROR(reader.Read(Directory::Wanted(), directory));
  SyncPointFinder finder(directory, reader.info().recorded);
  SH_RETURN_IF_ERROR(reader.Read(capture::Tables({Table::kHostCall, Table::kCopy}), finder));
  return finder.Finish();
}

absl::StatusOr<StepMeasure> Measure(capture::CaptureReader& reader, const std::vector<SyncPoint>& points) {
  SH_ASSIGN_OR_RETURN(const std::vector<ProcessSteps> processes, FindSteps(reader));
  StepMeasure measure;
  for (const ProcessSteps& process : processes) {
    if (measure.how.empty()) measure.how = process.reason;
    if (process.source == StepSource::kNone) continue;
    std::vector<Span> spans;
    for (const Segment& segment : process.segments) {
      if (segment.role == StepRole::kSteady) spans.push_back({process.process_id, segment.start_ns, segment.end_ns});
    }
    std::vector<int64_t> counts(spans.size());
    const MeasuredSpans measured(spans);
    for (const SyncPoint& point : points) {
      const auto span = measured.Find(point.process_id, point.start_ns);
      if (span && IsSyncPoint(point.kind)) ++counts[*span];
    }
    std::nth_element(counts.begin(), counts.begin() + counts.size() / 2, counts.end());
    measure.step_count = static_cast<int64_t>(spans.size());
    measure.period_ns = process.period_ns;
    measure.sync_point_count = counts[counts.size() / 2];
    measure.how = StepSourceName(process.source);
    if (!process.range.empty()) measure.how += " " + process.range;
    return measure;
  }
  return measure;
}

}  // namespace

absl::StatusOr<HiddenSteps> CompareHiddenSteps(capture::CaptureReader& reader) {
  SH_ASSIGN_OR_RETURN(const std::vector<SyncPoint> points, SyncPoints(reader));
  HiddenSteps result;
  SH_ASSIGN_OR_RETURN(result.marked, Measure(reader, points));
  HiddenRanges hidden(reader);
  SH_ASSIGN_OR_RETURN(result.found, Measure(hidden, points));
  return result;
}

}  // namespace stallhound::analysis
