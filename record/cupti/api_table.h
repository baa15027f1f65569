#pragma once

// What the recorder does with each CUDA call, by CUPTI's callback id: one table for runtime and driver, made at
// start-up from the names that this CUPTI gives its ids and from the class of each name (capture/api). So
// per-thread-stream forms, new versions and batch copies are in it without a list of numbers.

#include <cstdint>

#include "capture/api/api_class.h"
#include "record/cupti/call_parameters.h"
#include "record/cupti/copy_call.h"
#include "record/cupti/cupti_api.h"

namespace stallhound::record {

enum class CallRole : uint8_t { kOrdinary, kBeginCapture, kEndCapture, kProfilerStart, kProfilerStop };

struct ApiEntry {
  const char* name = nullptr;  // CUPTI's; null: no such id
  const CallParameters* parameters = nullptr;
  const CopyCall* copy = nullptr;
  capture::ApiClass api_class = capture::ApiClass::kOther;
  CallRole role = CallRole::kOrdinary;
  bool is_per_thread_stream = false;
  bool has_callback = false;  // recorded in its callbacks, in every mode (light: no event calls, but graph launches)
  bool has_stack = false;     // with a stack
  bool has_activity = false;  // recorded by CUPTI's activity record, in default mode
};

class ApiTable {
 public:
  static constexpr uint32_t kMaxId = 1024;
  enum Layer : uint32_t { kRuntime = 0, kDriver = 1 };

  // Asks `api` for every id's name. About 0.2 ms.
  void Build(const CuptiApi& api) noexcept;

  // For a CUPTI that cannot enable activity records of single calls: callbacks record these instead.
  void UseCallbacksForActivity() noexcept;

  // The entry of an id; one without name if there is none.
  const ApiEntry& Get(Layer layer, uint32_t cbid) const noexcept { return entries_[layer][cbid < kMaxId ? cbid : 0]; }
  // Ids are 1 .. count(layer) - 1.
  uint32_t count(Layer layer) const noexcept { return counts_[layer]; }

 private:
  ApiEntry entries_[2][kMaxId];
  uint32_t counts_[2] = {};
};

// cudaEventRecord, cudaStreamWaitEvent and their like: what orders the work of streams.
bool IsEventCall(capture::ApiClass api_class) noexcept;

// The entry for a call of that name. `name` is kept.
ApiEntry MakeApiEntry(const char* name) noexcept;

}  // namespace stallhound::record
