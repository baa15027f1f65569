#pragma once

// What GPU work says about its recording: the error of the GPU clock, work without a launch, launches without work, and
// how far the GPU side of each thread goes.

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "capture/spool/format.h"
#include "capture/spool/launch_table.h"

namespace stallhound::capture::spool {

// How often something happened, and from when to when (raw clock).
struct Occurrences {
  int64_t count = 0;
  int64_t first_ns = INT64_MAX;
  int64_t last_ns = INT64_MIN;
  void Add(int64_t start_ns, int64_t end_ns);
};

class WorkCheck {
 public:
  // `launches` is complete and outlives this; work that is found marks its launch there.
  explicit WorkCheck(LaunchTable& launches) : launches_(launches) {}

  // All syncs come before the first work.
  void AddSync(const SyncRecord& sync);
  // Work cannot start before its launch was entered, nor end after a sync behind it, on its stream or its context, has
  // returned.
  void Take(const KernelRecord& kernel) { TakeWork(kernel); }
  void Take(const CopyRecord& copy) { TakeWork(copy); }
  void Take(const MemsetRecord& memset) { TakeWork(memset); }
  // Kernel launches whose kernel never came, captured ones among them.
  Occurrences LaunchesWithoutWork() const;

  const Occurrences& work_without_launch() const { return work_without_launch_; }
  const Occurrences& violations() const { return violations_; }
  // Largest violation; null without work that has a launch.
  std::optional<int64_t> clock_error_ns() const { return clock_error_ns_; }
  // By thread index: when the last work that it launched ended.
  const std::map<uint32_t, int64_t>& last_of_thread() const { return last_of_thread_; }

 private:
  template <typename Record>
  void TakeWork(const Record& record);
  void SortSyncs();

  struct SyncSpan {
    int64_t start_ns;
    int64_t end_ns;
  };

  LaunchTable& launches_;
  std::map<uint64_t, std::vector<SyncSpan>> syncs_;  // by context << 32 | stream
  bool is_sorted_ = true;
  Occurrences work_without_launch_;
  Occurrences violations_;
  std::optional<int64_t> clock_error_ns_;
  std::map<uint32_t, int64_t> last_of_thread_;
};

}  // namespace stallhound::capture::spool
