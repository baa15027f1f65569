#include "analysis/hunt/collectives.h"

#include <algorithm>

namespace stallhound::analysis {

bool IsCollectiveKernel(std::string_view kernel_name) {
  return kernel_name.find("ncclDevKernel_") != std::string_view::npos ||
         kernel_name.find("ncclKernel_") != std::string_view::npos;
}

std::vector<std::vector<RankCollective>> Collectives::Match() const {
  std::vector<std::vector<RankCollective>> matches;
  if (by_rank_.size() < 2) return matches;
  const auto& first = by_rank_.begin()->second;
  const bool is_equal_count = std::all_of(by_rank_.begin(), by_rank_.end(),
                                          [&](const auto& rank) { return rank.second.size() == first.size(); });
  if (!is_equal_count) return matches;
  for (size_t i = 0; i < first.size(); ++i) {
    Interval together = first[i].second.time;
    bool is_same = true;
    std::vector<RankCollective> match;
    for (const auto& [rank, collectives] : by_rank_) {
      const auto& [name, collective] = collectives[i];
      together = Intersection(together, collective.time);
      is_same = is_same && name == first[i].first;
      match.push_back(collective);
    }
    if (is_same && together.end_ns > together.start_ns) matches.push_back(std::move(match));
  }
  return matches;
}

int64_t LastStart(const std::vector<RankCollective>& collective) {
  int64_t last_ns = INT64_MIN;
  for (const RankCollective& part : collective) last_ns = std::max(last_ns, part.time.start_ns);
  return last_ns;
}

}  // namespace stallhound::analysis
