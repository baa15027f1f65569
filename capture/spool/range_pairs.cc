#include "capture/spool/range_pairs.h"

#include <absl/container/flat_hash_map.h>

#include <algorithm>

namespace stallhound::capture::spool {

PairedRanges PairRanges(const std::vector<RangeRecord>& records) {
  std::vector<const RangeRecord*> order;
  order.reserve(records.size());
  for (const RangeRecord& record : records) order.push_back(&record);
  std::stable_sort(order.begin(), order.end(),
                   [](const RangeRecord* a, const RangeRecord* b) { return a->time_ns < b->time_ns; });

  PairedRanges result;
  absl::flat_hash_map<uint64_t, std::vector<size_t>> pushed;  // thread << 32 | domain: indices of open ranges
  absl::flat_hash_map<uint64_t, size_t> started;              // range id
  for (const RangeRecord* record : order) {
    const uint64_t nest = uint64_t{record->thread_index} << 32 | record->domain_id;
    const auto add = [&](RangeKind kind) {
      result.ranges.push_back({record, std::nullopt, record->is_operator != 0 ? RangeKind::kOperator : kind});
      return result.ranges.size() - 1;
    };
    switch (record->event) {
      case RangeEvent::kPush:
        pushed[nest].push_back(add(RangeKind::kPushPop));
        break;
      case RangeEvent::kStart:
        started[record->range_id] = add(RangeKind::kStartEnd);
        break;
      case RangeEvent::kMark:
        result.ranges[add(RangeKind::kMark)].end_ns = record->time_ns;
        break;
      case RangeEvent::kPop: {
        std::vector<size_t>& open = pushed[nest];
        if (open.empty()) {
          ++result.unbalanced_count;
          break;
        }
        result.ranges[open.back()].end_ns = record->time_ns;
        open.pop_back();
        break;
      }
      case RangeEvent::kEnd: {
        const auto start = started.find(record->range_id);
        if (start == started.end()) {
          ++result.unbalanced_count;
          break;
        }
        result.ranges[start->second].end_ns = record->time_ns;
        started.erase(start);
        break;
      }
    }
  }
  result.open_count = std::count_if(result.ranges.begin(), result.ranges.end(),
                                    [](const PairedRange& range) { return !range.end_ns.has_value(); });
  return result;
}

}  // namespace stallhound::capture::spool
