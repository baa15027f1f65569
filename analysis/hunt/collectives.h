#pragma once

// NCCL's kernels: they spin until every rank has come, so until then they wait and do not compute.

#include <absl/container/flat_hash_map.h>

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/hunt/intervals.h"
#include "capture/types.h"

namespace stallhound::analysis {

// By the name of NCCL's kernels, mangled or not: ncclDevKernel_*, ncclKernel_*.
bool IsCollectiveKernel(std::string_view kernel_name);

// One rank's part in a collective.
struct RankCollective {
  uint32_t rank = 0;
  int64_t submitted_ns = 0;
  Interval time;
};

// Collectives of every rank; a rank is one device of one process. Memory: 32 bytes a collective.
class Collectives {
 public:
  // In order of starts within a rank.
  void Add(capture::StringId name, const RankCollective& collective) {
    by_rank_[collective.rank].push_back({name, collective});
  }

  size_t rank_count() const { return by_rank_.size(); }

  // What belongs together, each with all ranks, in the order of a rank: collectives of the same names in the same
  // order, each of which ran on all ranks at once. One without matching ones is in none.
  std::vector<std::vector<RankCollective>> Match() const;

 private:
  absl::flat_hash_map<uint32_t, std::vector<std::pair<capture::StringId, RankCollective>>> by_rank_;
};

// Start of the rank that came last.
int64_t LastStart(const std::vector<RankCollective>& collective);

}  // namespace stallhound::analysis
