#pragma once

// The recorder's side of CUPTI: subscribes, enables what the mode asks for, lends activity buffers from the spool, and
// notices when another profiler takes CUPTI over. The program's threads come in through callbacks; Tick, Finish and
// Drain run on one thread. No lock is held across a CUPTI call.

#include <pthread.h>

#include <atomic>
#include <cstdint>

#include "capture/spool/writer.h"
#include "record/cupti/api_table.h"
#include "record/cupti/cupti_api.h"
#include "record/cupti/graph_nodes.h"
#include "record/cupti/host_calls.h"
#include "record/cupti/transcriber.h"

namespace stallhound::record {

class CuptiSession {
 public:
  // `writer` outlives this. One session per process may be started.
  CuptiSession(capture::spool::SpoolWriter& writer, const HostCallHooks& hooks);
  CuptiSession(const CuptiSession&) = delete;
  CuptiSession& operator=(const CuptiSession&) = delete;
  ~CuptiSession();

  // Subscribes and configures; records if `recording`. The result is FileHeader::gpu_state. Every failure is counted
  // in the spool and leaves the program as it was. `path` is stored as the library's.
  capture::spool::GpuState Start(const CuptiApi& api, const char* path, bool recording) noexcept;

  // Windows: switches kinds and calls on or off. Any thread, also inside a callback.
  void SetRecording(bool recording) noexcept;

  // Every 100 ms: flushes, transcribes, counts what CUPTI dropped, looks for other profilers.
  void Tick() noexcept;

  // At the end of the process: the last flush, forced.
  void Finish() noexcept;

  // In a forked child, where CUDA and CUPTI cannot be used any more. The session stays silent for ever.
  void ForgetAfterFork() noexcept;

  // Whether CUPTI calls us. False after another profiler took it over.
  bool is_active() const noexcept { return is_active_.load(std::memory_order_acquire); }

  // Entry points of CUPTI's callbacks.
  void OnCallback(CUpti_CallbackDomain domain, CUpti_CallbackId cbid, const void* data) noexcept;
  void OnBufferRequested(uint8_t** buffer, size_t* bytes, size_t* max_records) noexcept;
  void OnBufferCompleted(uint8_t* buffer, size_t valid_bytes) noexcept;

 private:
  capture::spool::GpuState Subscribe() noexcept;
  bool Configure() noexcept;
  void EnableCallbacks() noexcept;
  void Apply(bool recording) noexcept;
  void ApplyCalls(ApiTable::Layer layer, bool recording) noexcept;
  void SetAttribute(CUpti_ActivityAttribute attribute, uint8_t value) noexcept;
  void EnableKind(CUpti_ActivityKind kind, bool enable) noexcept;
  // True: fine. Else counts a CuptiError, of which the first is stored.
  bool Check(CUptiResult result) noexcept;

  void OnGraph(CUpti_CallbackId cbid, const CUpti_ResourceData& data) noexcept;
  void Drain(bool is_final) noexcept;
  void CountDropped() noexcept;
  void LookForOthers() noexcept;
  void Lose(int64_t since_ns) noexcept;
  uint64_t LentBytes() noexcept;

  capture::spool::SpoolWriter& writer_;
  CuptiApi api_;
  ApiTable table_;
  HostCalls calls_;
  Transcriber transcriber_;
  GraphNodes graphs_;
  const capture::spool::ActivityLayout* layout_ = nullptr;
  CUpti_SubscriberHandle subscriber_ = nullptr;
  ApiTable::Layer watched_layer_ = ApiTable::kRuntime;  // a callback that stays enabled
  uint32_t watched_id_ = 0;

  std::atomic<bool> is_active_{false};
  std::atomic<bool> has_activity_{false};  // buffers may be asked for
  std::atomic<bool> wanted_{false};
  std::atomic<bool> is_applying_{false};
  bool applied_ = false;
  std::atomic<bool> is_fatal_{false};

  // Signs of life: see LookForOthers.
  std::atomic<uint64_t> buffer_events_{0};
  uint64_t last_buffer_events_ = 0;
  uint64_t last_lent_bytes_ = 0;
  uint64_t last_evidence_count_ = 0;
  int64_t last_alive_ns_ = 0;
  int64_t last_dropped_check_ns_ = 0;
};

}  // namespace stallhound::record
