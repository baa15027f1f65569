#pragma once

// Turns the activity buffers that CUPTI returned into the spool's compact records. Used by the recorder's thread alone.
// About 0.3 us a record.

#include <atomic>
#include <cstdint>

#include "capture/spool/activity_decode.h"
#include "capture/spool/writer.h"
#include "record/cupti/host_calls.h"

namespace stallhound::record {

class Transcriber {
 public:
  // References outlive this.
  Transcriber(capture::spool::SpoolWriter& writer, const ApiTable& table, HostCalls& calls)
      : writer_(writer), table_(table), calls_(calls) {}

  void Configure(const CuptiApi& api, const capture::spool::ActivityLayout* layout) noexcept;

  // Transcribes every delivered buffer and gives it back to the pool. `is_final`: the flush was forced, so records of
  // work still running are no loss of CUPTI's. False: the first buffer contradicts the layout; nothing of it, and
  // nothing later, is recorded.
  bool Drain(bool is_final) noexcept;

 private:
  bool IsSane(const capture::spool::DeliveredActivity& delivered) noexcept;
  bool IsPlausible(const capture::spool::RawActivity& raw) const noexcept;
  void Transcribe(const capture::spool::DeliveredActivity& delivered) noexcept;
  void Write(const capture::spool::RawActivity& raw) noexcept;
  void WriteKernel(const capture::spool::RawActivity& raw) noexcept;
  void WriteCall(const capture::spool::RawActivity& raw) noexcept;
  void FlushDriverCall() noexcept;
  void AppendCall(capture::spool::DecodedCall& call) noexcept;
  uint32_t NameOf(uint64_t pointer) noexcept;
  template <typename Record>
  void WriteWork(Record& record) noexcept;
  bool HasTimes(int64_t start_ns, int64_t end_ns) noexcept;

  capture::spool::SpoolWriter& writer_;
  const ApiTable& table_;
  HostCalls& calls_;
  CuptiApi api_;
  const capture::spool::ActivityLayout* layout_ = nullptr;
  bool is_checked_ = false;
  bool is_final_ = false;

  // The last driver call of the buffer: dropped if the runtime call that follows contains it.
  bool has_driver_call_ = false;
  capture::spool::DecodedCall driver_call_{};

  // Kernel names by address, so that a name is written down once for buffers that nobody delivers.
  struct KnownName {
    uint64_t pointer;
    uint32_t name;
  };
  static constexpr size_t kKnownNames = 4096;
  uint64_t names_generation_ = 0;
  KnownName known_names_[kKnownNames] = {};
};

}  // namespace stallhound::record
