#include "analysis/hunt/feeds.h"

#include <algorithm>

#include "analysis/hunt/last_ends.h"

namespace stallhound::analysis {
namespace {

constexpr size_t kWholeCapture = SIZE_MAX;

uint64_t UnknownThreadsOf(uint32_t process_id) { return uint64_t{1} << 32 | process_id; }

}  // namespace

Feeds::Feeds(const std::vector<SyncPoint>& points, const MeasuredSpans* occurrences)
    : points_(points), occurrences_(occurrences), next_(points.size()) {
  for (size_t i = 0; i < points.size(); ++i) {
    returns_[points[i].thread_id].ends.emplace_back(points[i].end_ns, i);
    returns_[UnknownThreadsOf(points[i].process_id)].ends.emplace_back(points[i].end_ns, i);
  }
  for (auto& [submitter, returns] : returns_) std::sort(returns.ends.begin(), returns.ends.end());
}

Feeds::Submitter Feeds::SubmitterOf(const Submission& submission) const {
  return submission.thread_id ? Submitter{*submission.thread_id} : UnknownThreadsOf(submission.process_id);
}

std::optional<size_t> Feeds::OccurrenceAt(uint32_t process_id, int64_t time_ns) const {
  return occurrences_ == nullptr ? std::nullopt : occurrences_->Find(process_id, time_ns);
}

void Feeds::AddDevice(Submitter submitter, const Submission& submission) {
  const auto add = [&](size_t occurrence) {
    std::vector<uint32_t>& devices = devices_[{submitter, occurrence}];
    if (std::find(devices.begin(), devices.end(), submission.device) == devices.end()) {
      devices.push_back(submission.device);
    }
  };
  add(kWholeCapture);
  const std::optional<size_t> occurrence =
      OccurrenceAt(submission.process_id, submission.launch_ns.value_or(submission.start_ns));
  if (occurrence) add(*occurrence);
}

// The work follows the latest point that had returned when it was submitted.
void Feeds::AddNext(Submitter submitter, const Submission& submission) {
  const auto it = returns_.find(submitter);
  if (it == returns_.end()) return;
  Returns& returns = it->second;
  if (returns.next.empty()) returns.next.resize(returns.ends.size());
  const int64_t launch_ns = submission.launch_ns.value_or(submission.start_ns);
  returns.cursor =
      SeekFrom(returns.cursor, returns.ends.size(), launch_ns + 1, [&](size_t i) { return returns.ends[i].first; });
  if (returns.cursor == 0) return;
  NextWork& next = returns.next[returns.cursor - 1];
  if (std::pair(launch_ns, submission.start_ns) < std::pair(next.launch_ns, next.start_ns)) {
    next = {launch_ns, submission.start_ns, submission.stream};
  }
}

void Feeds::Add(const Submission& submission) {
  const Submitter submitter = SubmitterOf(submission);
  AddDevice(submitter, submission);
  AddNext(submitter, submission);
}

void Feeds::Close() {
  for (auto& [submitter, returns] : returns_) {
    NextWork next;
    for (size_t i = returns.next.size(); i-- > 0;) {
      if (returns.next[i].launch_ns != INT64_MAX) next = returns.next[i];
      // Work of an unknown thread may be this thread's: it ends the wait's effect if it came first.
      NextWork& of_point = next_[returns.ends[i].second];
      if (next.launch_ns < of_point.launch_ns) of_point = next;
    }
  }
  returns_.clear();
}

absl::Span<const uint32_t> Feeds::DevicesOf(const SyncPoint& point) const {
  const Submitter submitters[] = {point.thread_id, UnknownThreadsOf(point.process_id)};
  const std::optional<size_t> occurrence = OccurrenceAt(point.process_id, point.start_ns);
  for (const Submitter submitter : submitters) {
    for (const size_t place : {occurrence.value_or(kWholeCapture), kWholeCapture}) {
      const auto it = devices_.find({submitter, place});
      if (it != devices_.end()) return it->second;
    }
  }
  return {};
}

std::optional<NextWork> Feeds::NextAfter(size_t point) const {
  return next_[point].launch_ns == INT64_MAX ? std::nullopt : std::optional(next_[point]);
}

}  // namespace stallhound::analysis
