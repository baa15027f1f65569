#include "capture/import/nsys/identities.h"

namespace stallhound::capture::nsys {

uint32_t Identities::FindProcessId(std::optional<int64_t> global_pid) {
  if (!global_pid && processes_.size() == 1) return 0;
  const int64_t key = global_pid.value_or(0);
  const auto [it, is_new] = process_ids_.try_emplace(key, static_cast<uint32_t>(processes_.size()));
  if (is_new) {
    processes_.push_back({.global_pid = key});
    pid_ids_.try_emplace(PidOf(key), it->second);
  }
  last_global_pid_ = key;
  last_process_id_ = it->second;
  return it->second;
}

uint32_t Identities::FindThreadId(int64_t global_tid) {
  const auto [it, is_new] = thread_ids_.try_emplace(global_tid, static_cast<uint32_t>(threads_.size()));
  if (is_new) threads_.push_back({.global_tid = global_tid, .process_id = ProcessId(GlobalPid(global_tid))});
  last_global_tid_ = global_tid;
  last_thread_id_ = it->second;
  return it->second;
}

std::optional<uint32_t> Identities::FindPid(int64_t pid) const {
  const auto it = pid_ids_.find(pid);
  return it != pid_ids_.end() ? std::optional(it->second) : std::nullopt;
}

std::optional<uint32_t> Identities::FindGlobalPid(int64_t global_pid) const {
  const auto it = process_ids_.find(global_pid);
  return it != process_ids_.end() ? std::optional(it->second) : std::nullopt;
}

}  // namespace stallhound::capture::nsys
