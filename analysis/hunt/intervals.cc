#include "analysis/hunt/intervals.h"

#include <absl/container/inlined_vector.h>

namespace stallhound::analysis {
namespace {

constexpr size_t kBlockIntervals = 64;

void AppendVarint(uint64_t value, std::vector<uint8_t>& bytes) {
  for (; value >= 0x80; value >>= 7) bytes.push_back(static_cast<uint8_t>(value | 0x80));
  bytes.push_back(static_cast<uint8_t>(value));
}

int64_t ReadVarint(const std::vector<uint8_t>& bytes, size_t& offset) {
  uint64_t value = 0;
  for (int shift = 0;; shift += 7) {
    const uint8_t byte = bytes[offset++];
    value |= uint64_t{byte & 0x7fu} << shift;
    if (byte < 0x80) return static_cast<int64_t>(value);
  }
}

}  // namespace

void BusyTime::Append(const Busy& interval) {
  if (count_ == 0) end_ns_ = interval.start_ns;
  if (count_ % kBlockIntervals == 0) blocks_.push_back({end_ns_, bytes_.size()});
  AppendVarint(static_cast<uint64_t>(interval.start_ns - end_ns_), bytes_);
  AppendVarint(static_cast<uint64_t>(interval.end_ns - interval.start_ns), bytes_);
  AppendVarint(interval.launch ? static_cast<uint64_t>(interval.launch->lead_ns) + 1 : 0, bytes_);
  if (interval.launch) AppendVarint(static_cast<uint64_t>(interval.launch->call_ns), bytes_);
  end_ns_ = interval.end_ns;
  ++count_;
}

void BusyTime::Add(int64_t start_ns, int64_t end_ns, const std::optional<Launch>& launch) {
  if (end_ns <= start_ns) return;
  if (has_last_ && start_ns <= last_.end_ns) {
    last_.end_ns = std::max(last_.end_ns, end_ns);
    return;
  }
  if (has_last_) Append(last_);
  last_ = {{start_ns, end_ns}, launch};
  has_last_ = true;
}

BusyTime::Cursor::Cursor(const BusyTime& busy, int64_t time_ns) : busy_(&busy) {
  if (!busy.blocks_.empty()) {
    const auto later = std::upper_bound(busy.blocks_.begin(), busy.blocks_.end(), time_ns,
                                        [](int64_t time, const Block& block) { return time < block.end_ns; });
    const Block& block = later == busy.blocks_.begin() ? *later : *std::prev(later);
    offset_ = block.offset;
    interval_.end_ns = block.end_ns;
  }
  do {
    Next();
  } while (is_valid_ && interval_.end_ns <= time_ns);
}

void BusyTime::Cursor::Next() {
  if (offset_ < busy_->bytes_.size()) {
    interval_.start_ns = interval_.end_ns + ReadVarint(busy_->bytes_, offset_);
    interval_.end_ns = interval_.start_ns + ReadVarint(busy_->bytes_, offset_);
    interval_.launch.reset();
    const int64_t lead_ns = ReadVarint(busy_->bytes_, offset_) - 1;
    if (lead_ns >= 0) interval_.launch = {lead_ns, ReadVarint(busy_->bytes_, offset_)};
    return;
  }
  is_valid_ = busy_->has_last_ && !is_last_;
  is_last_ = true;
  interval_ = busy_->last_;
}

void ForEachGap(absl::Span<const BusyTime* const> unions, const Interval& span,
                absl::FunctionRef<void(const Gap&)> visit) {
  absl::InlinedVector<BusyTime::Cursor, 8> cursors;
  for (const BusyTime* busy : unions) {
    const BusyTime::Cursor cursor(*busy, span.start_ns);
    if (cursor.is_valid()) cursors.push_back(cursor);
  }
  int64_t free_ns = span.start_ns;
  while (free_ns < span.end_ns) {
    const auto next =
        std::min_element(cursors.begin(), cursors.end(), [](const BusyTime::Cursor& a, const BusyTime::Cursor& b) {
          return a.interval().start_ns < b.interval().start_ns;
        });
    if (next == cursors.end()) return visit({{free_ns, span.end_ns}, nullptr});
    const Busy& busy = next->interval();
    if (busy.start_ns > free_ns) visit({{free_ns, std::min(busy.start_ns, span.end_ns)}, &busy});
    free_ns = std::max(free_ns, busy.end_ns);
    next->Next();
    if (!next->is_valid()) cursors.erase(next);
  }
}

Gaps GapsIn(absl::Span<const BusyTime* const> unions, const Interval& span) {
  Gaps gaps;
  ForEachGap(unions, span, [&](const Gap& gap) {
    const int64_t length_ns = gap.time.end_ns - gap.time.start_ns;
    gaps.total_ns += length_ns;
    gaps.longest_ns = std::max(gaps.longest_ns, length_ns);
  });
  return gaps;
}

}  // namespace stallhound::analysis
