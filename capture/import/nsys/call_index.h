#pragma once

// The API calls of an export by (process, correlation id): what GPU work and synchronisation records are joined with.
// Correlation ids are counted per process, so the id alone would join the work of one process with calls of another.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "capture/types.h"

namespace stallhound::capture::nsys {

struct IndexedCall {
  uint64_t correlation_id = 0;
  int64_t start_ns = 0;  // in the export's time
  int64_t end_ns = 0;
  StringId api{};
  uint32_t thread_id : 31 = 0;
  uint32_t is_joined : 1 = 0;  // some GPU work or record belongs to it
};
static_assert(sizeof(IndexedCall) == 32);

// Add all, Seal once, then Find. 32 bytes a call. A search starts where the last one ended, so that reading work in the
// order of its launches costs constant time a row; any order costs logarithmic time. Not thread-safe.
class CallIndex {
 public:
  void Add(uint32_t process_id, const IndexedCall& call);
  void Seal();
  // The outermost call with that id, or null.
  IndexedCall* Find(uint32_t process_id, uint64_t correlation_id);

  // Calls visit(process_id, call) for all calls.
  template <typename Visit>
  void ForEach(Visit&& visit) const {
    for (size_t process = 0; process < processes_.size(); ++process) {
      for (const IndexedCall& call : processes_[process].calls) visit(static_cast<uint32_t>(process), call);
    }
  }

 private:
  struct OfProcess {
    std::vector<IndexedCall> calls;
    size_t hint = 0;
  };
  std::vector<OfProcess> processes_;
};

}  // namespace stallhound::capture::nsys
