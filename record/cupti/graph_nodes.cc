#include "record/cupti/graph_nodes.h"

#include "capture/spool/bounded_lock.h"

namespace stallhound::record {
namespace {

using capture::spool::BoundedLock;

bool HoldsNodes(CUgraphNodeType type) {
  return type == CU_GRAPH_NODE_TYPE_GRAPH || type == CU_GRAPH_NODE_TYPE_CONDITIONAL;
}

}  // namespace

// Graphs are built one after the other, so the one sought is nearly always the newest.
GraphNodes::Entry* GraphNodes::Find(CUgraph graph, bool may_add) noexcept {
  for (uint32_t i = count_; i > 0; --i) {
    if (entries_[i - 1].graph == graph) return &entries_[i - 1];
  }
  if (!may_add || count_ == kMaxGraphs) return nullptr;
  entries_[count_] = {graph, 0, false};
  return &entries_[count_++];
}

void GraphNodes::AddNode(CUgraph graph, CUgraphNodeType type) noexcept {
  BoundedLock lock(lock_);
  Entry* entry = lock.held() ? Find(graph, true) : nullptr;
  if (entry == nullptr) return;
  if (type == CU_GRAPH_NODE_TYPE_KERNEL) ++entry->kernels;
  entry->has_inner_nodes |= HoldsNodes(type);
}

void GraphNodes::RemoveNode(CUgraph graph, CUgraphNodeType type) noexcept {
  BoundedLock lock(lock_);
  Entry* entry = lock.held() ? Find(graph, false) : nullptr;
  if (entry != nullptr && type == CU_GRAPH_NODE_TYPE_KERNEL && entry->kernels > 0) --entry->kernels;
}

void GraphNodes::RemoveGraph(CUgraph graph) noexcept {
  BoundedLock lock(lock_);
  Entry* entry = lock.held() ? Find(graph, false) : nullptr;
  if (entry == nullptr) return;
  *entry = entries_[count_ - 1];
  --count_;
}

bool GraphNodes::KernelCount(CUgraph graph, uint32_t& count) noexcept {
  BoundedLock lock(lock_);
  const Entry* entry = lock.held() ? Find(graph, false) : nullptr;
  if (entry == nullptr || entry->has_inner_nodes) return false;
  count = entry->kernels;
  return true;
}

void GraphNodes::ForgetAfterFork() noexcept {
  lock_ = PTHREAD_MUTEX_INITIALIZER;
  count_ = 0;
}

}  // namespace stallhound::record
