#pragma once

// A CUPTI for tests: of any version, without a GPU. It keeps what the recorder asked for, calls its callbacks and fills
// its buffers with the raw records that the test gives it, into one buffer per thread, as CUPTI does.

#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "record/cupti/cupti_api.h"
#include "record/cupti/layout/layout.h"
#include "record/cupti/raw_buffer.h"

namespace stallhound::record {

class FakeCupti {
 public:
  // One at a time. `version` as cuptiGetVersion gives it: decides the records' layout and which functions exist.
  explicit FakeCupti(uint32_t version);
  ~FakeCupti();
  FakeCupti(const FakeCupti&) = delete;
  FakeCupti& operator=(const FakeCupti&) = delete;

  const CuptiApi& api() const { return api_; }
  const capture::spool::ActivityLayout& layout() const { return *layout_; }

  // Enter and exit of a CUDA call, on the calling thread, with `during` in between. `params` as CUPTI's params struct.
  void Call(CUpti_CallbackDomain domain, CUpti_CallbackId cbid, const void* params, int result, uint32_t correlation,
            void (*during)() = nullptr);
  void Enter(CUpti_CallbackDomain domain, CUpti_CallbackId cbid, const void* params, uint32_t correlation);
  void Exit(CUpti_CallbackDomain domain, CUpti_CallbackId cbid, const void* params, int result, uint32_t correlation);
  void Resource(CUpti_CallbackId cbid, CUpti_GraphData& graph);
  void State(CUpti_CallbackId cbid);

  // Puts a record into the calling thread's buffer, if its kind (or, for API records, its call) is enabled.
  // True: it was recorded.
  bool Emit(const RawRecord& record);
  // Returns this thread's buffer, full or not.
  void CompleteBuffer();

  // What the recorder asked for.
  bool IsEnabled(CUpti_CallbackDomain domain, CUpti_CallbackId cbid);
  bool IsEnabled(CUpti_ActivityKind kind);
  bool IsCallEnabled(CUpti_CallbackDomain domain, CUpti_CallbackId cbid);
  std::vector<std::string> log() const { return log_; }
  int flush_count() const { return flush_count_; }

  // How it misbehaves.
  std::string holder;                          // another subscriber
  size_t dropped = 0;                          // to be reported once
  CUstream capturing = nullptr;                // a stream that a graph is captured from
  bool is_finalized = false;                   // somebody called cuptiFinalize
  bool is_holding = false;                     // flushes return nothing: every buffer holds work in flight
  bool is_taken_over = false;                  // somebody else registered buffer callbacks
  CUptiResult failing_result = CUPTI_SUCCESS;  // of register_timestamp

 private:
  struct Buffer {
    uint8_t* data = nullptr;
    size_t bytes = 0;
    size_t used = 0;
  };
  struct Functions;  // the C functions that CuptiApi points at

  void CallBack(CUpti_CallbackDomain domain, CUpti_CallbackId cbid, const void* data);
  void Complete(Buffer& buffer);

  CuptiApi api_;
  uint32_t version_;
  const capture::spool::ActivityLayout* layout_;
  std::mutex mutex_;
  std::vector<std::string> log_;
  CUpti_CallbackFunc callback_ = nullptr;
  void* context_ = nullptr;
  CUpti_BuffersCallbackRequestFunc request_ = nullptr;
  CUpti_BuffersCallbackCompleteFunc complete_ = nullptr;
  CUpti_TimestampCallbackFunc timestamp_ = nullptr;
  std::set<std::pair<int, uint32_t>> callbacks_;
  std::set<int> kinds_;
  std::set<std::pair<int, uint32_t>> calls_;
  std::map<std::thread::id, Buffer> buffers_;
  int flush_count_ = 0;
};

}  // namespace stallhound::record
