#pragma once

// The recorder of one process: all its parts, put together. In a profiled process there is one, made at the first call
// of an entry point (inject.cc) and never destroyed; tests make their own.

#include <atomic>
#include <cstdint>

#include "capture/spool/writer.h"
#include "record/cupti/cupti_session.h"
#include "record/device/device_recorder.h"
#include "record/inject/options.h"
#include "record/inject/ticker.h"
#include "record/nvtx/nvtx_recorder.h"
#include "record/stacks/module_recorder.h"
#include "record/stacks/spool_stack_sink.h"
#include "record/stacks/stacks.h"
#include "record/windows/windows.h"

namespace stallhound::record {

class Recorder {
 public:
  explicit Recorder(const RecorderOptions& options);
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  // Starts the thread and opens the window. Before anything else.
  void Start() noexcept;

  // CUDA was initialised: takes the process's libcupti, or says in the spool why not. Once.
  void StartCupti() noexcept;
  // The same with functions that are there already.
  void StartCupti(const CuptiApi& api, const char* path) noexcept;

  NvtxRecorder& nvtx() noexcept { return nvtx_; }
  Windows& windows() noexcept { return windows_; }
  capture::spool::SpoolWriter& writer() noexcept { return writer_; }

  // What was recorded before the call is in the file, and the heartbeat is later than it. False: not within `limit_ns`.
  bool Flush(int64_t limit_ns) noexcept { return ticker_.TickNow(limit_ns); }

  // At the end of the process: the last flush, within two seconds.
  void Finish() noexcept;
  void ForgetAfterFork() noexcept;

 private:
  int64_t Tick() noexcept;
  void TickSlowly() noexcept;
  void FinishOnThread() noexcept;
  void Describe() noexcept;
  void RecordClocks() noexcept;
  void StartThread() noexcept;
  void OnWindow(bool is_on) noexcept;

  RecorderOptions options_;
  capture::spool::SpoolWriter writer_;
  Windows windows_;
  SpoolStackSink sink_;
  StackRecorder stacks_;
  NvtxRecorder nvtx_;
  ModuleRecorder modules_;
  DeviceRecorder device_;
  CuptiSession session_;
  Ticker ticker_;
  std::atomic<bool> has_started_cupti_{false};
  uint64_t described_generation_ = 0;  // of the file that Describe wrote to
  int64_t last_slow_tick_ns_ = 0;
  bool has_counted_two_cupti_ = false;
};

}  // namespace stallhound::record
