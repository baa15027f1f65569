#pragma once

// The functions of libcupti that the recorder uses, as pointers: found by dlsym in the copy that the process uses, or
// given by a fake in tests. Nothing here links CUPTI.

#include <cuda.h>
#include <cupti.h>

namespace stallhound::record {

// CUpti_SubscriberParams of 13.0, spelled out so that this compiles against the headers of 12.x too.
struct SubscriberParams {
  size_t structSize;
  const char* subscriberName;
  char* oldSubscriberName;
  size_t oldSubscriberSize;
};
using SubscribeV2Function = CUptiResult (*)(CUpti_SubscriberHandle*, CUpti_CallbackFunc, void*, SubscriberParams*);
using EnableApiFunction = CUptiResult (*)(CUpti_CallbackId, uint8_t);
using EnableFunction = CUptiResult (*)(uint8_t);
using GraphExecIdFunction = CUptiResult (*)(CUgraphExec, uint32_t*);

// (member, symbol, type). Without a required one nothing is recorded; README.md says what each optional one costs.
#define SH_CUPTI_REQUIRED(F)                                                                                         \
  F(get_version, "cuptiGetVersion", decltype(&cuptiGetVersion))                                                      \
  F(subscribe, "cuptiSubscribe", decltype(&cuptiSubscribe))                                                          \
  F(unsubscribe, "cuptiUnsubscribe", decltype(&cuptiUnsubscribe))                                                    \
  F(enable_callback, "cuptiEnableCallback", decltype(&cuptiEnableCallback))                                          \
  F(get_callback_name, "cuptiGetCallbackName", decltype(&cuptiGetCallbackName))                                      \
  F(register_callbacks, "cuptiActivityRegisterCallbacks", decltype(&cuptiActivityRegisterCallbacks))                 \
  F(register_timestamp, "cuptiActivityRegisterTimestampCallback", decltype(&cuptiActivityRegisterTimestampCallback)) \
  F(activity_enable, "cuptiActivityEnable", decltype(&cuptiActivityEnable))                                          \
  F(activity_disable, "cuptiActivityDisable", decltype(&cuptiActivityDisable))                                       \
  F(flush_all, "cuptiActivityFlushAll", decltype(&cuptiActivityFlushAll))                                            \
  F(get_next_record, "cuptiActivityGetNextRecord", decltype(&cuptiActivityGetNextRecord))                            \
  F(get_device_id, "cuptiGetDeviceId", decltype(&cuptiGetDeviceId))

#define SH_CUPTI_OPTIONAL(F)                                                                        \
  F(subscribe_v2, "cuptiSubscribe_v2", SubscribeV2Function)                                         \
  F(get_callback_state, "cuptiGetCallbackState", decltype(&cuptiGetCallbackState))                  \
  F(get_dropped, "cuptiActivityGetNumDroppedRecords", decltype(&cuptiActivityGetNumDroppedRecords)) \
  F(set_attribute, "cuptiActivitySetAttribute", decltype(&cuptiActivitySetAttribute))               \
  F(set_thread_id_type, "cuptiSetThreadIdType", decltype(&cuptiSetThreadIdType))                    \
  F(get_stream_id, "cuptiGetStreamIdEx", decltype(&cuptiGetStreamIdEx))                             \
  F(get_graph_exec_id, "cuptiGetGraphExecId", GraphExecIdFunction)                                  \
  F(enable_runtime_api, "cuptiActivityEnableRuntimeApi", EnableApiFunction)                         \
  F(enable_driver_api, "cuptiActivityEnableDriverApi", EnableApiFunction)                           \
  F(enable_all_sync_records, "cuptiActivityEnableAllSyncRecords", EnableFunction)                   \
  F(enable_launch_attributes, "cuptiActivityEnableLaunchAttributes", EnableFunction)

struct CuptiApi {
#define SH_CUPTI_MEMBER(member, symbol, type) type member = nullptr;
  SH_CUPTI_REQUIRED(SH_CUPTI_MEMBER)
  SH_CUPTI_OPTIONAL(SH_CUPTI_MEMBER)
#undef SH_CUPTI_MEMBER
  // Of the driver that has loaded us; null if it cannot be found.
  decltype(&cuPointerGetAttributes) get_pointer_attributes = nullptr;
  decltype(&cuStreamIsCapturing) is_capturing = nullptr;
};

// Fills `api` from a library that dlopen returned. The name of the first required function that is missing, or null.
const char* ResolveCupti(void* library, CuptiApi& api) noexcept;

}  // namespace stallhound::record
