#include "analysis/hunt/collectives.h"

#include <algorithm>

namespace stallhound::analysis {

bool IsCollectiveKernel(std::string_view kernel_name) {
  return kernel_name.find("ncclDevKernel_") != std::string_view::npos ||
         kernel_name.find("ncclKernel_") != std::string_view::npos;
}

absl::flat_hash_map<uint32_t, std::vector<Interval>> Collectives::ComputeParts() const {
  absl::flat_hash_map<uint32_t, std::vector<Interval>> parts;
  if (by_rank_.size() < 2) return parts;
  const std::vector<Collective>& first = by_rank_.begin()->second;
  const bool is_equal_count = std::all_of(by_rank_.begin(), by_rank_.end(),
                                          [&](const auto& rank) { return rank.second.size() == first.size(); });
  if (!is_equal_count) return parts;
  for (size_t i = 0; i < first.size(); ++i) {
    Interval together = first[i].time;
    bool is_same = true;
    for (const auto& [rank, collectives] : by_rank_) {
      together = Intersection(together, collectives[i].time);
      is_same = is_same && collectives[i].name == first[i].name;
    }
    if (!is_same || together.end_ns <= together.start_ns) continue;
    for (const auto& [rank, collectives] : by_rank_) {
      parts[rank].push_back({together.start_ns, collectives[i].time.end_ns});
    }
  }
  return parts;
}

}  // namespace stallhound::analysis
