#pragma once

// Who did something in an export: Nsight's global ids as rows of the tables process and thread.

#include <absl/container/flat_hash_map.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "capture/types.h"

namespace stallhound::capture::nsys {

// A globalTid holds the machine (and VM) from bit 48 on, the process id in 24 bits, the thread id in the lowest 24.
constexpr int64_t kThreadBits = 0xffffff;
constexpr int64_t GlobalPid(int64_t global_tid) { return global_tid & ~kThreadBits; }
constexpr int64_t PidOf(int64_t global_id) { return global_id >> 24 & 0xffffff; }
constexpr int64_t TidOf(int64_t global_tid) { return global_tid & kThreadBits; }

struct Process {
  int64_t global_pid = 0;
  std::optional<StringId> name;
  std::optional<int64_t> first_ns;  // of its events, in the export's time
  std::optional<int64_t> last_ns;
};

struct Thread {
  int64_t global_tid = 0;
  uint32_t process_id = 0;
  std::optional<StringId> name;
};

// Ids are given in the order of first sight. Not thread-safe.
class Identities {
 public:
  // Exports without globalPid hold one process; with several, work of unknown origin gets a process of its own (pid 0).
  uint32_t ProcessId(std::optional<int64_t> global_pid) {
    return global_pid && last_global_pid_ == *global_pid ? last_process_id_ : FindProcessId(global_pid);
  }
  uint32_t ThreadId(int64_t global_tid) {
    return last_global_tid_ == global_tid ? last_thread_id_ : FindThreadId(global_tid);
  }
  // The first process with this operating-system id, or with this globalPid, if any.
  std::optional<uint32_t> FindPid(int64_t pid) const;
  std::optional<uint32_t> FindGlobalPid(int64_t global_pid) const;

  void Saw(uint32_t process_id, int64_t start_ns, int64_t end_ns) {
    Process& process = processes_[process_id];
    if (!process.first_ns || start_ns < *process.first_ns) process.first_ns = start_ns;
    if (!process.last_ns || end_ns > *process.last_ns) process.last_ns = end_ns;
  }

  std::vector<Process>& processes() { return processes_; }
  const std::vector<Process>& processes() const { return processes_; }
  std::vector<Thread>& threads() { return threads_; }
  const std::vector<Thread>& threads() const { return threads_; }

 private:
  uint32_t FindProcessId(std::optional<int64_t> global_pid);
  uint32_t FindThreadId(int64_t global_tid);

  std::vector<Process> processes_;
  std::vector<Thread> threads_;
  absl::flat_hash_map<int64_t, uint32_t> process_ids_;
  absl::flat_hash_map<int64_t, uint32_t> pid_ids_;
  absl::flat_hash_map<int64_t, uint32_t> thread_ids_;
  std::optional<int64_t> last_global_pid_;
  uint32_t last_process_id_ = 0;
  std::optional<int64_t> last_global_tid_;
  uint32_t last_thread_id_ = 0;
};

}  // namespace stallhound::capture::nsys
