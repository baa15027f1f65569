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
  // `spans` by process and start, outlive this. Memory: 8 bytes a span.
  explicit MeasuredSpans(const std::vector<Span>& spans) : spans_(spans), longer_before_(spans.size(), kNone) {
    for (size_t i = 1; i < spans.size(); ++i) {
      size_t before = i - 1;
      while (before != kNone && spans[before].end_ns <= spans[i].end_ns) before = longer_before_[before];
      if (before != kNone && spans[before].process_id == spans[i].process_id) longer_before_[i] = before;
    }
  }

  // Of the spans that an instant lies in the one that began last: an inner one, or the later of two that overlap.
  std::optional<size_t> Find(uint32_t process_id, int64_t time_ns) const {
    const auto later = std::upper_bound(spans_.begin(), spans_.end(), std::pair(process_id, time_ns),
                                        [](const std::pair<uint32_t, int64_t>& at, const Span& span) {
                                          return at < std::pair(span.process_id, span.start_ns);
                                        });
    if (later == spans_.begin()) return std::nullopt;
    size_t span = static_cast<size_t>(later - spans_.begin()) - 1;
    if (spans_[span].process_id != process_id) return std::nullopt;
    while (span != kNone && time_ns >= spans_[span].end_ns) span = longer_before_[span];
    return span == kNone ? std::nullopt : std::optional(span);
  }

 private:
  static constexpr size_t kNone = SIZE_MAX;

  const std::vector<Span>& spans_;
  std::vector<size_t> longer_before_;  // the nearest span before that ends later, in the same process
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
