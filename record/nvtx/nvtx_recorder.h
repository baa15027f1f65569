#pragma once

// Writes NVTX ranges, marks, domains, categories and thread names to the spool. One instance per process; every method
// is thread-safe, allocates nothing on the heap and takes a lock only to learn a new domain, string or category name.
// A push or a pop costs a hash of the text, the clock and a copy (README).

#include <atomic>
#include <cstdint>
#include <string_view>

#include "capture/spool/writer.h"
#include "record/nvtx/category_table.h"
#include "record/nvtx/text_table.h"

namespace stallhound::record {

using NvtxDomain = TextTable::Handle;  // 0: the default domain
using NvtxString = TextTable::Handle;  // a registered string

// What an event says, whatever form of the call said it.
struct NvtxEvent {
  NvtxDomain domain = 0;
  NvtxString registered = 0;  // the name, if not 0; else `text`
  std::string_view text;
  uint32_t category = 0;
  int64_t payload = capture::spool::kNonePayload;
};

// Told of every range, also while ranges are not recorded, on the thread that marks it; for windows. `range_id` is 0
// for pushes and pops; `name` is empty for pops and ends.
struct NvtxRangeHook {
  void* context = nullptr;
  void (*on_range)(void* context, capture::spool::RangeEvent event, std::string_view name, uint64_t range_id) = nullptr;
};

// Takes the Python stack of the calling thread: its id, 0 if none of its frames is Python's.
struct NvtxStackHook {
  void* context = nullptr;
  uint32_t (*take_python)(void* context) = nullptr;
};

class NvtxRecorder {
 public:
  // `writer` must outlive this.
  explicit NvtxRecorder(capture::spool::SpoolWriter& writer) : writer_(writer) {}
  NvtxRecorder(const NvtxRecorder&) = delete;
  NvtxRecorder& operator=(const NvtxRecorder&) = delete;

  // Before the first event.
  void SetHook(const NvtxRangeHook& hook) { hook_ = hook; }
  // Takes ranges of PyTorch's operators (operator_text.h) for what they are, and stacks of those that have a number.
  void RecordOperators(const NvtxStackHook& hook) { stack_hook_ = hook; }
  // Ranges are written while true (as it starts); names and domains are remembered always.
  void SetRecording(bool recording) { recording_.store(recording, std::memory_order_relaxed); }

  void Push(const NvtxEvent& event) { Write(event, capture::spool::RangeEvent::kPush, 0); }
  void Pop(NvtxDomain domain) { Write({.domain = domain}, capture::spool::RangeEvent::kPop, 0); }
  void Mark(const NvtxEvent& event) { Write(event, capture::spool::RangeEvent::kMark, 0); }
  // The id to end the range with, by any thread; unique in the process.
  uint64_t Start(const NvtxEvent& event);
  void End(uint64_t range_id) { Write({}, capture::spool::RangeEvent::kEnd, range_id); }

  NvtxDomain CreateDomain(std::string_view name);
  NvtxString RegisterString(std::string_view text);
  void NameCategory(NvtxDomain domain, uint32_t category, std::string_view name);
  void NameThread(int64_t tid, std::string_view name);

  // After a fork, in the child, before its first event.
  void UnlockInChild();

 private:
  void Write(const NvtxEvent& event, capture::spool::RangeEvent kind, uint64_t range_id);
  void TellHook(const NvtxEvent& event, capture::spool::RangeEvent kind, uint64_t range_id);
  void WriteRecord(const NvtxEvent& event, capture::spool::RangeEvent kind, uint64_t range_id, int64_t now_ns);
  // False: it is no operator's.
  bool WriteOperator(const NvtxEvent& event, int64_t now_ns);
  uint32_t DomainId(NvtxDomain domain, uint64_t generation);
  uint32_t StringId(NvtxString handle, uint64_t generation);
  uint32_t NameId(const NvtxEvent& event, uint64_t generation);
  uint32_t CategoryId(NvtxDomain domain, uint32_t category, uint64_t generation);

  capture::spool::SpoolWriter& writer_;
  NvtxRangeHook hook_;
  NvtxStackHook stack_hook_;
  std::atomic<bool> recording_{true};
  std::atomic<uint64_t> last_range_id_{0};
  TextTable domains_;
  TextTable strings_;
  CategoryTable categories_;
};

}  // namespace stallhound::record
