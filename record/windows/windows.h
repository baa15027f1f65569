#pragma once

// When to record: a delay and a duration, inside an NVTX range or its n-th occurrences, between cudaProfilerStart and
// Stop or the two exported functions. What is configured must all hold. Every change is told once, in order, and
// written to the spool. Thread-safe; no lock is held while a change is told.

#include <pthread.h>

#include <atomic>
#include <cstdint>
#include <string_view>

#include "capture/spool/writer.h"

namespace stallhound::record {

struct WindowOptions {
  int64_t delay_ns = 0;
  int64_t duration_ns = 0;      // 0: no end
  const char* range = nullptr;  // null: any time; copied
  uint32_t first_step = 0;      // counted from 1; 0: every occurrence of the range
  uint32_t last_step = 0;
  bool needs_start = false;  // off until something is started
};

// "10-20", "7", "5-": false if it is none of these. An open end is UINT32_MAX.
bool ParseSteps(const char* text, uint32_t& first, uint32_t& last) noexcept;

class Windows {
 public:
  using OnChange = void (*)(void* context, bool is_on);

  // `writer` outlives this.
  explicit Windows(capture::spool::SpoolWriter& writer) : writer_(writer) {}
  Windows(const Windows&) = delete;
  Windows& operator=(const Windows&) = delete;

  // Before anything else. `start_ns`: what the delay counts from.
  void Configure(const WindowOptions& options, int64_t start_ns, OnChange on_change, void* context) noexcept;

  bool is_on() const noexcept { return is_on_.load(std::memory_order_acquire); }
  bool needs_start() const noexcept { return options_.needs_start; }
  bool has_range() const noexcept { return range_[0] != '\0'; }

  // Of NVTX, on the thread that marks the range; pops and ends without one of our names are free.
  void OnRange(capture::spool::RangeEvent event, std::string_view name, uint64_t range_id) noexcept;

  // cudaProfilerStart and Stop, and the exported functions. `reason` is stored with the change.
  void Start(const char* reason) noexcept { Request(true, reason); }
  void Stop(const char* reason) noexcept { Request(false, reason); }

  // Applies delay and duration. Returns ns until time next changes something, INT64_MAX if never.
  int64_t Tick() noexcept;

  // In the child of a fork: ranges that other threads had open are forgotten.
  void ForgetAfterFork() noexcept;

 private:
  static constexpr int kMaxOpenRanges = 16;

  void Request(bool start, const char* reason) noexcept;
  void Enter(uint64_t range_id, bool has_id) noexcept;
  void Leave() noexcept;
  void Update(const char* reason) noexcept;
  bool Wanted() const noexcept;

  capture::spool::SpoolWriter& writer_;
  WindowOptions options_;
  char range_[256] = {};
  int64_t start_ns_ = 0;
  OnChange on_change_ = nullptr;
  void* context_ = nullptr;

  std::atomic<bool> is_time_{true};
  std::atomic<bool> is_started_{true};
  std::atomic<uint32_t> occurrences_{0};
  std::atomic<int32_t> open_ranges_{0};
  std::atomic<uint64_t> open_ids_[kMaxOpenRanges] = {};  // of ranges with an id

  std::atomic<bool> is_on_{false};
  std::atomic<bool> is_updating_{false};
  bool told_ = false;
  bool has_told_ = false;
};

}  // namespace stallhound::record
