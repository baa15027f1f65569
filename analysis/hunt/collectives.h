#pragma once

// NCCL's kernels: they spin until every rank has come, so until then they wait and do not compute.

#include <absl/container/flat_hash_map.h>

#include <cstdint>
#include <string_view>
#include <vector>

#include "analysis/hunt/intervals.h"
#include "capture/types.h"

namespace stallhound::analysis {

// By the name of NCCL's kernels, mangled or not: ncclDevKernel_*, ncclKernel_*.
bool IsCollectiveKernel(std::string_view kernel_name);

// Collectives of every rank; a rank is one device of one process. Memory: 24 bytes a collective.
class Collectives {
 public:
  // In order of starts within a rank.
  void Add(uint32_t rank, capture::StringId name, const Interval& time) { by_rank_[rank].push_back({name, time}); }

  // The parts of a rank's collectives from the start of the last rank on, in order of starts. Ranks match if their
  // collectives have the same names in the same order and each ran on all ranks at once; a collective without matching
  // ones has no part.
  absl::flat_hash_map<uint32_t, std::vector<Interval>> ComputeParts() const;

 private:
  struct Collective {
    capture::StringId name;
    Interval time;
  };
  absl::flat_hash_map<uint32_t, std::vector<Collective>> by_rank_;
};

}  // namespace stallhound::analysis
