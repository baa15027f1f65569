#include "record/cupti/fake_cupti.h"

#include <cstring>

#include "capture/spool/activity_decode.h"

namespace stallhound::record {
namespace {

FakeCupti* g_fake = nullptr;

#define SH_RUNTIME(name) \
  { CUPTI_RUNTIME_TRACE_CBID_##name, #name }
#define SH_DRIVER(name) \
  { CUPTI_DRIVER_TRACE_CBID_##name, #name }

// The calls that tests make.
const std::map<uint32_t, const char*> kRuntimeNames = {
    SH_RUNTIME(cudaMalloc_v3020),
    SH_RUNTIME(cudaFree_v3020),
    SH_RUNTIME(cudaMemcpy_v3020),
    SH_RUNTIME(cudaMemcpyAsync_v3020),
    SH_RUNTIME(cudaMemcpyAsync_ptsz_v7000),
    SH_RUNTIME(cudaMemsetAsync_v3020),
    SH_RUNTIME(cudaDeviceSynchronize_v3020),
    SH_RUNTIME(cudaStreamSynchronize_v3020),
    SH_RUNTIME(cudaStreamSynchronize_ptsz_v7000),
    SH_RUNTIME(cudaEventSynchronize_v3020),
    SH_RUNTIME(cudaEventQuery_v3020),
    SH_RUNTIME(cudaEventRecord_v3020),
    SH_RUNTIME(cudaStreamWaitEvent_v3020),
    SH_RUNTIME(cudaLaunchKernel_v7000),
    SH_RUNTIME(cudaLaunchKernelExC_v11060),
    SH_RUNTIME(cudaGraphLaunch_v10000),
    SH_RUNTIME(cudaGetDevice_v3020),
    SH_RUNTIME(cudaMallocAsync_v11020),
    SH_RUNTIME(cudaStreamBeginCapture_v10000),
    SH_RUNTIME(cudaStreamEndCapture_v10000),
    SH_RUNTIME(cudaProfilerStart_v4000),
    SH_RUNTIME(cudaProfilerStop_v4000),
};
const std::map<uint32_t, const char*> kDriverNames = {
    SH_DRIVER(cuLaunchKernel),       SH_DRIVER(cuStreamSynchronize),   SH_DRIVER(cuCtxSynchronize),
    SH_DRIVER(cuMemcpyDtoH_v2),      SH_DRIVER(cuModuleLoadData),      SH_DRIVER(cuMemAlloc_v2),
    SH_DRIVER(cuMemcpyHtoDAsync_v2), SH_DRIVER(cuMemcpyBatchAsync_v2), SH_DRIVER(cuMemcpy3DBatchAsync_v2),
    SH_DRIVER(cuLaunchHostFunc),
};

}  // namespace

struct FakeCupti::Functions {
  static void Log(const std::string& entry) {
    std::lock_guard lock(g_fake->mutex_);
    g_fake->log_.push_back(entry);
  }
  static CUptiResult GetVersion(uint32_t* version) {
    *version = g_fake->version_;
    return CUPTI_SUCCESS;
  }
  static CUptiResult Subscribe(CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc callback, void* context) {
    Log("subscribe");
    if (!g_fake->holder.empty()) return static_cast<CUptiResult>(39);
    g_fake->callback_ = callback;
    g_fake->context_ = context;
    *subscriber = reinterpret_cast<CUpti_SubscriberHandle>(g_fake);
    return CUPTI_SUCCESS;
  }
  static CUptiResult SubscribeV2(CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc callback, void* context,
                                 SubscriberParams* params) {
    const CUptiResult result = Subscribe(subscriber, callback, context);
    if (result != CUPTI_SUCCESS) {
      strncpy(params->oldSubscriberName, g_fake->holder.c_str(), params->oldSubscriberSize);
    }
    return result;
  }
  static CUptiResult Unsubscribe(CUpti_SubscriberHandle) { return CUPTI_SUCCESS; }
  static CUptiResult EnableCallback(uint32_t enable, CUpti_SubscriberHandle, CUpti_CallbackDomain domain,
                                    CUpti_CallbackId cbid) {
    std::lock_guard lock(g_fake->mutex_);
    if (enable != 0) {
      g_fake->callbacks_.insert({domain, cbid});
    } else {
      g_fake->callbacks_.erase({domain, cbid});
    }
    return CUPTI_SUCCESS;
  }
  static CUptiResult GetCallbackState(uint32_t* enable, CUpti_SubscriberHandle, CUpti_CallbackDomain domain,
                                      CUpti_CallbackId cbid) {
    if (g_fake->is_finalized) return CUPTI_ERROR_INVALID_PARAMETER;
    *enable = g_fake->IsEnabled(domain, cbid) ? 1 : 0;
    return CUPTI_SUCCESS;
  }
  static CUptiResult GetCallbackName(CUpti_CallbackDomain domain, uint32_t cbid, const char** name) {
    const auto& names = domain == CUPTI_CB_DOMAIN_RUNTIME_API ? kRuntimeNames : kDriverNames;
    const auto found = names.find(cbid);
    if (found == names.end()) return CUPTI_ERROR_INVALID_PARAMETER;
    *name = found->second;
    return CUPTI_SUCCESS;
  }
  static CUptiResult RegisterCallbacks(CUpti_BuffersCallbackRequestFunc request,
                                       CUpti_BuffersCallbackCompleteFunc complete) {
    Log("register-callbacks");
    g_fake->request_ = request;
    g_fake->complete_ = complete;
    return CUPTI_SUCCESS;
  }
  static CUptiResult RegisterTimestamp(CUpti_TimestampCallbackFunc timestamp) {
    Log("register-timestamp");
    g_fake->timestamp_ = timestamp;
    return g_fake->failing_result;
  }
  static CUptiResult ActivityEnable(CUpti_ActivityKind kind) {
    Log("enable " + std::to_string(kind));
    std::lock_guard lock(g_fake->mutex_);
    g_fake->kinds_.insert(kind);
    return CUPTI_SUCCESS;
  }
  static CUptiResult ActivityDisable(CUpti_ActivityKind kind) {
    std::lock_guard lock(g_fake->mutex_);
    g_fake->kinds_.erase(kind);
    return CUPTI_SUCCESS;
  }
  static CUptiResult EnableCall(CUpti_CallbackDomain domain, CUpti_CallbackId cbid, uint8_t enable) {
    std::lock_guard lock(g_fake->mutex_);
    if (enable != 0) {
      g_fake->calls_.insert({domain, cbid});
    } else {
      g_fake->calls_.erase({domain, cbid});
    }
    return CUPTI_SUCCESS;
  }
  static CUptiResult EnableRuntimeApi(CUpti_CallbackId cbid, uint8_t enable) {
    return EnableCall(CUPTI_CB_DOMAIN_RUNTIME_API, cbid, enable);
  }
  static CUptiResult EnableDriverApi(CUpti_CallbackId cbid, uint8_t enable) {
    return EnableCall(CUPTI_CB_DOMAIN_DRIVER_API, cbid, enable);
  }
  static CUptiResult FlushAll(uint32_t) {
    std::lock_guard lock(g_fake->mutex_);
    ++g_fake->flush_count_;
    if (g_fake->is_holding) return CUPTI_SUCCESS;
    for (auto& [thread, buffer] : g_fake->buffers_) g_fake->Complete(buffer);
    return CUPTI_SUCCESS;
  }
  static CUptiResult GetNextRecord(uint8_t* buffer, size_t valid_bytes, CUpti_Activity** record) {
    uint8_t* next = buffer;
    if (*record != nullptr) {
      uint32_t kind;
      memcpy(&kind, *record, sizeof(kind));
      next = reinterpret_cast<uint8_t*>(*record) + ActivityBytes(*g_fake->layout_, kind);
    }
    if (next >= buffer + valid_bytes) return CUPTI_ERROR_MAX_LIMIT_REACHED;
    *record = reinterpret_cast<CUpti_Activity*>(next);
    return CUPTI_SUCCESS;
  }
  static CUptiResult GetDropped(CUcontext, uint32_t, size_t* dropped) {
    *dropped = g_fake->dropped;
    g_fake->dropped = 0;
    return CUPTI_SUCCESS;
  }
  static CUptiResult SetAttribute(CUpti_ActivityAttribute attribute, size_t*, void* value) {
    Log("attribute " + std::to_string(attribute) + "=" + std::to_string(*static_cast<uint8_t*>(value)));
    return CUPTI_SUCCESS;
  }
  static CUptiResult SetThreadIdType(CUpti_ActivityThreadIdType) { return CUPTI_SUCCESS; }
  static CUptiResult GetStreamId(CUcontext, CUstream stream, uint8_t is_per_thread, uint32_t* id) {
    *id = stream == nullptr ? (is_per_thread != 0 ? 8 : 7) : static_cast<uint32_t>(reinterpret_cast<uintptr_t>(stream));
    return CUPTI_SUCCESS;
  }
  static CUptiResult GetDeviceId(CUcontext, uint32_t* device_id) {
    *device_id = 3;
    return CUPTI_SUCCESS;
  }
  // All memory is pageable.
  static CUresult GetPointerAttributes(unsigned count, CUpointer_attribute*, void** values, CUdeviceptr) {
    for (unsigned i = 0; i < count; ++i) *static_cast<unsigned*>(values[i]) = 0;
    return CUDA_SUCCESS;
  }
  static CUresult IsCapturing(CUstream stream, CUstreamCaptureStatus* status) {
    *status = stream == g_fake->capturing ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE;
    return CUDA_SUCCESS;
  }
  static CUptiResult GetGraphExecId(CUgraphExec, uint32_t* id) {
    *id = 77;
    return CUPTI_SUCCESS;
  }
  static CUptiResult EnableAllSyncRecords(uint8_t enable) {
    Log("all-sync-records " + std::to_string(enable));
    return CUPTI_SUCCESS;
  }
  static CUptiResult EnableLaunchAttributes(uint8_t enable) {
    Log("launch-attributes " + std::to_string(enable));
    return CUPTI_SUCCESS;
  }
};

FakeCupti::FakeCupti(uint32_t version) : version_(version), layout_(LayoutFor(version)) {
  g_fake = this;
  api_.get_version = Functions::GetVersion;
  api_.subscribe = Functions::Subscribe;
  api_.unsubscribe = Functions::Unsubscribe;
  api_.enable_callback = Functions::EnableCallback;
  api_.get_callback_name = Functions::GetCallbackName;
  api_.register_callbacks = Functions::RegisterCallbacks;
  api_.register_timestamp = Functions::RegisterTimestamp;
  api_.activity_enable = Functions::ActivityEnable;
  api_.activity_disable = Functions::ActivityDisable;
  api_.flush_all = Functions::FlushAll;
  api_.get_next_record = Functions::GetNextRecord;
  api_.get_callback_state = Functions::GetCallbackState;
  api_.get_dropped = Functions::GetDropped;
  api_.set_attribute = Functions::SetAttribute;
  api_.set_thread_id_type = Functions::SetThreadIdType;
  api_.get_stream_id = Functions::GetStreamId;
  api_.get_graph_exec_id = Functions::GetGraphExecId;
  api_.get_device_id = Functions::GetDeviceId;
  api_.get_pointer_attributes = Functions::GetPointerAttributes;
  api_.is_capturing = Functions::IsCapturing;
  api_.enable_launch_attributes = Functions::EnableLaunchAttributes;
  if (version >= 24) {
    api_.enable_runtime_api = Functions::EnableRuntimeApi;
    api_.enable_driver_api = Functions::EnableDriverApi;
  }
  if (version >= 26) api_.enable_all_sync_records = Functions::EnableAllSyncRecords;
  if (version >= 130000) api_.subscribe_v2 = Functions::SubscribeV2;
}

FakeCupti::~FakeCupti() { g_fake = nullptr; }

bool FakeCupti::IsEnabled(CUpti_CallbackDomain domain, CUpti_CallbackId cbid) {
  std::lock_guard lock(mutex_);
  return callbacks_.count({domain, cbid}) != 0;
}

bool FakeCupti::IsEnabled(CUpti_ActivityKind kind) {
  std::lock_guard lock(mutex_);
  return kinds_.count(kind) != 0;
}

bool FakeCupti::IsCallEnabled(CUpti_CallbackDomain domain, CUpti_CallbackId cbid) {
  std::lock_guard lock(mutex_);
  const auto kind = domain == CUPTI_CB_DOMAIN_RUNTIME_API ? CUPTI_ACTIVITY_KIND_RUNTIME : CUPTI_ACTIVITY_KIND_DRIVER;
  return kinds_.count(kind) != 0 || calls_.count({domain, cbid}) != 0;
}

void FakeCupti::CallBack(CUpti_CallbackDomain domain, CUpti_CallbackId cbid, const void* data) {
  if (callback_ != nullptr && !is_finalized && IsEnabled(domain, cbid)) callback_(context_, domain, cbid, data);
}

void FakeCupti::Enter(CUpti_CallbackDomain domain, CUpti_CallbackId cbid, const void* params, uint32_t correlation) {
  CUpti_CallbackData data{};
  data.callbackSite = CUPTI_API_ENTER;
  data.functionParams = params;
  data.context = reinterpret_cast<CUcontext>(this);
  data.contextUid = 1;
  data.correlationId = correlation;
  CallBack(domain, cbid, &data);
}

void FakeCupti::Exit(CUpti_CallbackDomain domain, CUpti_CallbackId cbid, const void* params, int result,
                     uint32_t correlation) {
  CUpti_CallbackData data{};
  data.callbackSite = CUPTI_API_EXIT;
  data.functionParams = params;
  data.functionReturnValue = &result;
  data.context = reinterpret_cast<CUcontext>(this);
  data.contextUid = 1;
  data.correlationId = correlation;
  CallBack(domain, cbid, &data);
}

void FakeCupti::Call(CUpti_CallbackDomain domain, CUpti_CallbackId cbid, const void* params, int result,
                     uint32_t correlation, void (*during)()) {
  Enter(domain, cbid, params, correlation);
  if (during != nullptr) during();
  Exit(domain, cbid, params, result, correlation);
}

void FakeCupti::Resource(CUpti_CallbackId cbid, CUpti_GraphData& graph) {
  CUpti_ResourceData data{};
  data.resourceDescriptor = &graph;
  CallBack(CUPTI_CB_DOMAIN_RESOURCE, cbid, &data);
}

void FakeCupti::State(CUpti_CallbackId cbid) {
  CUpti_StateData data{};
  CallBack(CUPTI_CB_DOMAIN_STATE, cbid, &data);
}

bool FakeCupti::Emit(const RawRecord& record) {
  const auto kind = static_cast<CUpti_ActivityKind>(record.kind());
  if (kind == CUPTI_ACTIVITY_KIND_RUNTIME || kind == CUPTI_ACTIVITY_KIND_DRIVER) {
    uint32_t cbid;
    memcpy(&cbid, record.bytes().data() + layout_->api.cbid, sizeof(cbid));
    const auto domain = kind == CUPTI_ACTIVITY_KIND_RUNTIME ? CUPTI_CB_DOMAIN_RUNTIME_API : CUPTI_CB_DOMAIN_DRIVER_API;
    if (!IsCallEnabled(domain, cbid)) return false;
  } else if (!IsEnabled(kind)) {
    return false;
  }
  std::lock_guard lock(mutex_);
  if (is_taken_over || request_ == nullptr) return false;
  Buffer& buffer = buffers_[std::this_thread::get_id()];
  if (buffer.data != nullptr && buffer.used + record.bytes().size() > buffer.bytes) Complete(buffer);
  if (buffer.data == nullptr) {
    size_t max_records = 0;
    request_(&buffer.data, &buffer.bytes, &max_records);
    buffer.used = 0;
  }
  if (buffer.data == nullptr) {
    ++dropped;
    return false;
  }
  memcpy(buffer.data + buffer.used, record.bytes().data(), record.bytes().size());
  buffer.used += record.bytes().size();
  return true;
}

void FakeCupti::CompleteBuffer() {
  std::lock_guard lock(mutex_);
  Complete(buffers_[std::this_thread::get_id()]);
}

void FakeCupti::Complete(Buffer& buffer) {
  if (buffer.data == nullptr || is_taken_over) return;
  complete_(nullptr, 0, buffer.data, buffer.bytes, buffer.used);
  buffer = Buffer();
}

}  // namespace stallhound::record
