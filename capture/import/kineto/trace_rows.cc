#include "capture/import/kineto/trace_rows.h"

#include <algorithm>

namespace stallhound::capture {

void TimeSpan::Add(int64_t start_ns, int64_t end_ns) {
  const bool epoch = start_ns >= kEpochScaleNs;
  ++(epoch ? epoch_count : relative_count);
  std::optional<int64_t>& min = epoch ? epoch_min_ns : relative_min_ns;
  std::optional<int64_t>& max = epoch ? epoch_max_ns : relative_max_ns;
  min = min ? std::min(*min, start_ns) : start_ns;
  max = max ? std::max(*max, end_ns) : end_ns;
}

void Losses::Add(LossCounter counter, int64_t count, std::string_view detail) {
  if (count == 0) return;
  Loss& loss = counts[counter];
  loss.count += count;
  if (loss.detail.empty()) loss.detail = std::string(detail);
}

}  // namespace stallhound::capture
