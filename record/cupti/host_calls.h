#pragma once

// Records CUDA calls from their API callbacks: when they were entered and left, what they returned, their parameters
// and the stack of the caller. One instance, called on the program's threads. No lock but the spool's, no allocation;
// CUPTI is only asked for ids, and in light mode the driver for what memory a copied pointer is of.

#include <atomic>
#include <cstdint>

#include "capture/spool/writer.h"
#include "record/cupti/api_table.h"
#include "record/cupti/capture_times.h"

namespace stallhound::record {

struct HostCallHooks {
  void* context = nullptr;
  // The id of the calling thread's stack, 0 if there is none.
  uint32_t (*take_stack)(void* context) = nullptr;
  // cudaProfilerStart (true) or cudaProfilerStop (false) was called.
  void (*on_profiler)(void* context, bool is_start) = nullptr;
};

// Writes the name of each CUDA call once into each spool. Thread-safe.
class ApiNames {
 public:
  explicit ApiNames(capture::spool::SpoolWriter& writer) : writer_(writer) {}
  void Note(ApiTable::Layer layer, uint32_t cbid, const char* name) noexcept;

 private:
  capture::spool::SpoolWriter& writer_;
  std::atomic<uint64_t> generation_{0};
  std::atomic<uint64_t> noted_[2][ApiTable::kMaxId / 64] = {};
};

class HostCalls {
 public:
  // References outlive this.
  HostCalls(capture::spool::SpoolWriter& writer, const ApiTable& table, const HostCallHooks& hooks)
      : writer_(writer), table_(table), hooks_(hooks), names_(writer) {}

  // Before the first callback. `counts_launches`: launches come here, because this CUPTI has no activity record for
  // selected calls. `has_work_records`: CUPTI makes records of GPU work, so that a sync that blocked leaves traces; if
  // not, the calls themselves write the copies, without the GPU's times.
  void Configure(const CuptiApi& api, bool counts_launches, bool has_work_records) noexcept;

  void SetRecording(bool recording) noexcept;

  // The API callback.
  void OnCall(ApiTable::Layer layer, uint32_t cbid, const CUpti_CallbackData& data) noexcept;

  // Calls of which, or of what they waited for, CUPTI must have made activity records: copies, and syncs that blocked
  // (kSurelyBlockedNs). Only those that returned success while recording.
  uint64_t evidence_count() const noexcept { return evidence_count_.load(std::memory_order_relaxed); }
  ApiNames& names() noexcept { return names_; }
  CaptureTimes& capture_times() noexcept { return capture_times_; }
  void ForgetAfterFork() noexcept { capture_times_.ForgetAfterFork(); }

 private:
  struct PendingCall;
  struct ThreadCalls;

  ThreadCalls* Calls() noexcept;
  void Enter(const ApiEntry& entry, uint32_t key, const CUpti_CallbackData& data, int64_t now_ns) noexcept;
  void Exit(const ApiEntry& entry, uint32_t key, const CUpti_CallbackData& data, int64_t now_ns) noexcept;
  bool IsWorthWriting(ThreadCalls& calls, const ApiEntry& entry, capture::spool::HostCallRecord& record,
                      uint64_t handle) noexcept;
  void WriteCopies(const ApiEntry& entry, const capture::spool::HostCallRecord& call, const CUpti_CallbackData& data,
                   const void* stream, ThreadCalls& calls) noexcept;
  void WriteCopy(const ApiEntry& entry, const capture::spool::HostCallRecord& call, const CUpti_CallbackData& data,
                 const CopyFacts& facts) noexcept;
  // Whether the call became a part of a graph instead of running.
  bool IsCaptured(const ApiEntry& entry, const capture::spool::HostCallRecord& call, const void* stream) noexcept;
  void Count(const ApiEntry& entry, const capture::spool::HostCallRecord& record) noexcept;
  bool LeavesRecords(const ApiEntry& entry, const capture::spool::HostCallRecord& record) noexcept;
  uint32_t StreamId(const ApiEntry& entry, const CUpti_CallbackData& data, const void* stream) noexcept;
  uint32_t TakeStack() noexcept { return hooks_.take_stack == nullptr ? 0 : hooks_.take_stack(hooks_.context); }

  capture::spool::SpoolWriter& writer_;
  const ApiTable& table_;
  HostCallHooks hooks_;
  ApiNames names_;
  CaptureTimes capture_times_;
  CuptiApi api_;
  bool counts_launches_ = false;
  bool has_work_records_ = false;
  std::atomic<bool> recording_{false};
  // Grows when recording starts or stops: calls entered before are forgotten.
  std::atomic<uint32_t> epoch_{0};
  std::atomic<uint64_t> evidence_count_{0};
};

}  // namespace stallhound::record
