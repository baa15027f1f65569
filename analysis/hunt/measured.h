#pragma once

// What hunt and counts share: which measured span an instant lies in, and what a recording cannot answer.

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "analysis/hunt/directory.h"
#include "analysis/hunt/report.h"

namespace stallhound::analysis {

class MeasuredSpans {
 public:
  // `spans` by process and start, outlive this.
  explicit MeasuredSpans(const std::vector<Span>& spans) : spans_(spans) {}

  // The index of the latest span that has begun, if it has not ended: of overlapping spans the later one.
  std::optional<size_t> Find(uint32_t process_id, int64_t time_ns) const {
    auto it = std::upper_bound(spans_.begin(), spans_.end(), std::pair(process_id, time_ns),
                               [](const std::pair<uint32_t, int64_t>& at, const Span& span) {
                                 return at < std::pair(span.process_id, span.start_ns);
                               });
    if (it == spans_.begin()) return std::nullopt;
    --it;
    if (it->process_id != process_id || time_ns >= it->end_ns) return std::nullopt;
    return static_cast<size_t>(it - spans_.begin());
  }

 private:
  const std::vector<Span>& spans_;
};

// Nothing that happened at some time was left to be read: a count of 0 would be a claim.
inline bool IsEmptied(const capture::CaptureInfo& info, bool counts_complete) {
  return !counts_complete && info.end_ns <= 0;
}

// The recording's own notes, and what follows from missing kernels and overlapping measured ranges.
inline std::vector<std::string> NotesOf(const capture::CaptureInfo& info, const std::vector<RangeSummary>& ranges) {
  std::vector<std::string> notes = info.notes;
  if (!info.recorded.test(static_cast<size_t>(capture::Table::kKernel))) {
    notes.push_back("kernels were not recorded: blocked times and GPU idle are unknown");
  }
  for (const RangeSummary& range : ranges) {
    if (!range.is_measured || !range.is_overlapping) continue;
    notes.push_back("occurrences of range " + range.name + " overlap; what lies in two counts for the later one");
  }
  return notes;
}

}  // namespace stallhound::analysis
