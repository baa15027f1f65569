#pragma once

// Counts the kernel nodes of CUDA graphs while the program builds them, so that a report knows how many kernels a
// launch of an executable graph should show. Fixed memory; a graph too many, or one with nodes that hold further nodes,
// stays unknown. Thread-safe.

#include <pthread.h>

#include <cstdint>

#include "record/cupti/cupti_api.h"

namespace stallhound::record {

class GraphNodes {
 public:
  void AddNode(CUgraph graph, CUgraphNodeType type) noexcept;
  void RemoveNode(CUgraph graph, CUgraphNodeType type) noexcept;
  void RemoveGraph(CUgraph graph) noexcept;
  // False: unknown.
  bool KernelCount(CUgraph graph, uint32_t& count) noexcept;
  void ForgetAfterFork() noexcept;

 private:
  static constexpr uint32_t kMaxGraphs = 1024;
  struct Entry {
    CUgraph graph;
    uint32_t kernels;
    bool has_inner_nodes;
  };

  Entry* Find(CUgraph graph, bool may_add) noexcept;

  pthread_mutex_t lock_ = PTHREAD_MUTEX_INITIALIZER;
  uint32_t count_ = 0;
  Entry entries_[kMaxGraphs] = {};
};

}  // namespace stallhound::record
