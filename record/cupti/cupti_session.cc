#include "record/cupti/cupti_session.h"

#include <stdio.h>
#include <string.h>

#include "record/cupti/layout/layout.h"

namespace stallhound::record {
namespace {

using capture::ApiClass;
using capture::LossCounter;
using capture::spool::FileHeader;
using capture::spool::GpuState;
using capture::spool::Mode;
using capture::spool::RawActivity;

constexpr char kName[] = "stallhound";
constexpr int64_t kSecondNs = 1'000'000'000;
// Syncs that must have gone unrecorded, and for how long, before somebody else is held to have the buffers.
constexpr uint64_t kSilentCalls = 2;
constexpr int64_t kSilentNs = kSecondNs * 8 / 10;
constexpr CUptiResult kMultipleSubscribers = static_cast<CUptiResult>(39);

// In every mode: these make nothing slower.
constexpr CUpti_ActivityKind kKinds[] = {
    CUPTI_ACTIVITY_KIND_CONTEXT,
    CUPTI_ACTIVITY_KIND_STREAM,
    CUPTI_ACTIVITY_KIND_OVERHEAD,
};
// Not in light: records of any GPU work, of copies alone too, make every launch slower from then on, and a copy by 2 us
// more (H200, CUPTI 13.0, best of 8 processes each: launch 3.23 us bare, 3.21 with kKinds and callbacks, 3.54 with
// MEMCPY, 3.68 with MEMCPY2, 3.84 with CONCURRENT_KERNEL; medians 4.14, 3.97, 4.88, 4.63, 5.32; 2026-11-30).
constexpr CUpti_ActivityKind kDefaultKinds[] = {
    CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
    CUPTI_ACTIVITY_KIND_MEMSET,
    CUPTI_ACTIVITY_KIND_MEMCPY,
    CUPTI_ACTIVITY_KIND_MEMCPY2,
};
// Records of syncs make every launch 0.9 us slower, even after they were switched off (H200, CUPTI 13.0, best of 8
// processes each: 5.91 us with callbacks alone, 7.19 us; 2026-11-30). Callbacks tell of syncs and events anyway.
constexpr CUpti_ActivityKind kFullKinds[] = {
    CUPTI_ACTIVITY_KIND_RUNTIME,
    CUPTI_ACTIVITY_KIND_DRIVER,
    CUPTI_ACTIVITY_KIND_SYNCHRONIZATION,
    CUPTI_ACTIVITY_KIND_CUDA_EVENT,
};

// Buffer callbacks carry no context.
std::atomic<CuptiSession*> g_session{nullptr};

void CUPTIAPI CallbackTrampoline(void* context, CUpti_CallbackDomain domain, CUpti_CallbackId cbid, const void* data) {
  static_cast<CuptiSession*>(context)->OnCallback(domain, cbid, data);
}

void CUPTIAPI RequestTrampoline(uint8_t** buffer, size_t* bytes, size_t* max_records) {
  *buffer = nullptr;
  *bytes = *max_records = 0;
  if (CuptiSession* session = g_session.load(std::memory_order_acquire)) {
    session->OnBufferRequested(buffer, bytes, max_records);
  }
}

void CUPTIAPI CompleteTrampoline(CUcontext, uint32_t, uint8_t* buffer, size_t, size_t valid_bytes) {
  if (CuptiSession* session = g_session.load(std::memory_order_acquire)) {
    session->OnBufferCompleted(buffer, valid_bytes);
  }
}

uint64_t CUPTIAPI TimestampTrampoline() { return static_cast<uint64_t>(capture::spool::RawNowNs()); }

}  // namespace

CuptiSession::CuptiSession(capture::spool::SpoolWriter& writer, const HostCallHooks& hooks)
    : writer_(writer), calls_(writer, table_, hooks), transcriber_(writer, table_, calls_) {}

CuptiSession::~CuptiSession() {
  CuptiSession* self = this;
  g_session.compare_exchange_strong(self, nullptr);
}

bool CuptiSession::Check(CUptiResult result) noexcept {
  if (result == CUPTI_SUCCESS) return true;
  uint32_t none = 0;
  writer_.header().cupti_error.compare_exchange_strong(none, static_cast<uint32_t>(result));
  writer_.CountLoss(LossCounter::kCuptiError);
  return false;
}

GpuState CuptiSession::Start(const CuptiApi& api, const char* path, bool recording) noexcept {
  api_ = api;
  FileHeader& header = writer_.header();
  snprintf(header.cupti_path, sizeof(header.cupti_path), "%s", path);
  uint32_t version = 0;
  if (Check(api_.get_version(&version))) header.cupti_version = version;
  layout_ = LayoutFor(version);
  if (layout_ == nullptr) {
    writer_.CountLoss(LossCounter::kUnknownLayout);
  } else {
    memcpy(&header.layout, layout_, sizeof(header.layout));
  }
  GpuState state = Subscribe();
  if (state == GpuState::kRecording && !Configure()) state = GpuState::kFailed;
  header.gpu_state.store(state, std::memory_order_release);
  if (state != GpuState::kRecording) return state;
  is_active_.store(true, std::memory_order_release);
  last_alive_ns_ = last_dropped_check_ns_ = writer_.NowNs();
  if (recording || wanted_.load()) SetRecording(true);
  return state;
}

GpuState CuptiSession::Subscribe() noexcept {
  FileHeader& header = writer_.header();
  CUptiResult result;
  if (api_.subscribe_v2 != nullptr) {
    SubscriberParams parameters{sizeof(SubscriberParams), kName, header.holder, sizeof(header.holder)};
    result = api_.subscribe_v2(&subscriber_, CallbackTrampoline, this, &parameters);
    header.holder[sizeof(header.holder) - 1] = '\0';
  } else {
    result = api_.subscribe(&subscriber_, CallbackTrampoline, this);
  }
  if (result == CUPTI_SUCCESS) return GpuState::kRecording;
  if (result == kMultipleSubscribers || result == CUPTI_ERROR_MAX_LIMIT_REACHED) {
    writer_.CountLoss(LossCounter::kHolderPresent);
    return GpuState::kOtherHolder;
  }
  Check(result);
  return GpuState::kFailed;
}

void CuptiSession::SetAttribute(CUpti_ActivityAttribute attribute, uint8_t value) noexcept {
  size_t bytes = sizeof(value);
  if (api_.set_attribute != nullptr) api_.set_attribute(attribute, &bytes, &value);
}

bool CuptiSession::Configure() noexcept {
  g_session.store(this, std::memory_order_release);
  table_.Build(api_);
  // The clock before anything is enabled: records made earlier would carry another one.
  if (!Check(api_.register_timestamp(TimestampTrampoline))) return false;
  // What follows only makes things cheaper or clearer: a CUPTI that refuses it is used as it is.
  if (api_.set_thread_id_type != nullptr) api_.set_thread_id_type(CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM);
  SetAttribute(CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER, 1);
  SetAttribute(CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER, 1);
  if (layout_ != nullptr && Check(api_.register_callbacks(RequestTrampoline, CompleteTrampoline))) {
    has_activity_.store(true, std::memory_order_release);
  }
  if (api_.enable_launch_attributes != nullptr) api_.enable_launch_attributes(0);
  if (api_.enable_all_sync_records != nullptr) api_.enable_all_sync_records(0);
  const bool has_selected_calls = api_.enable_runtime_api != nullptr && api_.enable_driver_api != nullptr;
  const bool is_light = writer_.header().mode == Mode::kLight;
  calls_.Configure(api_, !has_selected_calls && !is_light, !is_light);
  if (!has_selected_calls && !is_light) table_.UseCallbacksForActivity();
  transcriber_.Configure(api_, layout_);
  EnableCallbacks();
  return true;
}

void CuptiSession::EnableCallbacks() noexcept {
  const bool is_light = writer_.header().mode == Mode::kLight;
  constexpr CUpti_CallbackDomain kDomains[] = {CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_CB_DOMAIN_DRIVER_API};
  for (ApiTable::Layer layer : {ApiTable::kRuntime, ApiTable::kDriver}) {
    for (uint32_t cbid = 1; cbid < table_.count(layer); ++cbid) {
      const ApiEntry& entry = table_.Get(layer, cbid);
      // Light counts launches of graphs, whose copies no call tells of.
      const bool is_graph_launch = is_light && entry.api_class == ApiClass::kGraphLaunch;
      if (!entry.has_callback && !is_graph_launch && entry.role == CallRole::kOrdinary) continue;
      if (is_light && IsEventCall(entry.api_class)) continue;
      // CUPTI has names for calls that it no longer knows otherwise.
      if (api_.enable_callback(1, subscriber_, kDomains[layer], cbid) != CUPTI_SUCCESS) continue;
      watched_layer_ = layer;
      watched_id_ = cbid;
    }
  }
  if (watched_id_ == 0) writer_.CountLoss(LossCounter::kCuptiError);
  api_.enable_callback(1, subscriber_, CUPTI_CB_DOMAIN_STATE, CUPTI_CBID_STATE_FATAL_ERROR);
  if (is_light || api_.get_graph_exec_id == nullptr) return;
  for (CUpti_CallbackId cbid : {CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED, CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED,
                                CUPTI_CBID_RESOURCE_GRAPHNODE_DESTROY_STARTING,
                                CUPTI_CBID_RESOURCE_GRAPH_DESTROY_STARTING, CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATED}) {
    api_.enable_callback(1, subscriber_, CUPTI_CB_DOMAIN_RESOURCE, cbid);
  }
}

void CuptiSession::SetRecording(bool recording) noexcept {
  wanted_.store(recording && !writer_.is_stopped(), std::memory_order_release);
  // Two threads may change the window at once; one of them applies until what is applied is what is wanted.
  while (is_active() && !is_applying_.exchange(true, std::memory_order_acquire)) {
    const bool wanted = wanted_.load(std::memory_order_acquire);
    if (applied_ != wanted) Apply(wanted);
    applied_ = wanted;
    is_applying_.store(false, std::memory_order_release);
    if (wanted_.load(std::memory_order_acquire) == wanted) return;
  }
}

void CuptiSession::Apply(bool recording) noexcept {
  if (!recording) calls_.SetRecording(false);
  if (has_activity_.load(std::memory_order_acquire)) {
    const Mode mode = writer_.header().mode;
    for (CUpti_ActivityKind kind : kKinds) EnableKind(kind, recording);
    if (mode != Mode::kLight) {
      for (CUpti_ActivityKind kind : kDefaultKinds) EnableKind(kind, recording);
    }
    if (mode == Mode::kFull) {
      for (CUpti_ActivityKind kind : kFullKinds) EnableKind(kind, recording);
    } else if (mode == Mode::kDefault) {
      ApplyCalls(ApiTable::kRuntime, recording);
      ApplyCalls(ApiTable::kDriver, recording);
    }
  }
  if (recording) calls_.SetRecording(true);
}

void CuptiSession::EnableKind(CUpti_ActivityKind kind, bool enable) noexcept {
  Check(enable ? api_.activity_enable(kind) : api_.activity_disable(kind));
}

void CuptiSession::ApplyCalls(ApiTable::Layer layer, bool recording) noexcept {
  const EnableApiFunction enable = layer == ApiTable::kRuntime ? api_.enable_runtime_api : api_.enable_driver_api;
  for (uint32_t cbid = 1; enable != nullptr && cbid < table_.count(layer); ++cbid) {
    if (table_.Get(layer, cbid).has_activity) enable(cbid, recording ? 1 : 0);
  }
}

void CuptiSession::OnCallback(CUpti_CallbackDomain domain, CUpti_CallbackId cbid, const void* data) noexcept {
  if (!is_active() || data == nullptr) return;
  switch (domain) {
    case CUPTI_CB_DOMAIN_RUNTIME_API:
      return calls_.OnCall(ApiTable::kRuntime, cbid, *static_cast<const CUpti_CallbackData*>(data));
    case CUPTI_CB_DOMAIN_DRIVER_API:
      return calls_.OnCall(ApiTable::kDriver, cbid, *static_cast<const CUpti_CallbackData*>(data));
    case CUPTI_CB_DOMAIN_RESOURCE:
      return OnGraph(cbid, *static_cast<const CUpti_ResourceData*>(data));
    case CUPTI_CB_DOMAIN_STATE:
      // CUPTI ends itself after a fatal error.
      if (cbid == CUPTI_CBID_STATE_FATAL_ERROR) is_fatal_.store(true, std::memory_order_release);
      return;
    default:
      return;
  }
}

void CuptiSession::OnGraph(CUpti_CallbackId cbid, const CUpti_ResourceData& data) noexcept {
  const auto* graph = static_cast<const CUpti_GraphData*>(data.resourceDescriptor);
  if (graph == nullptr) return;
  switch (cbid) {
    case CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED:
    case CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED:
      return graphs_.AddNode(graph->graph, graph->nodeType);
    case CUPTI_CBID_RESOURCE_GRAPHNODE_DESTROY_STARTING:
      return graphs_.RemoveNode(graph->graph, graph->nodeType);
    case CUPTI_CBID_RESOURCE_GRAPH_DESTROY_STARTING:
      return graphs_.RemoveGraph(graph->graph);
    case CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATED: {
      capture::spool::GraphRecord record{};
      if (!graphs_.KernelCount(graph->graph, record.kernel_node_count)) return;
      if (api_.get_graph_exec_id(graph->graphExec, &record.graph_id) != CUPTI_SUCCESS) return;
      writer_.AddDictionary(record);
      return;
    }
    default:
      return;
  }
}

void CuptiSession::OnBufferRequested(uint8_t** buffer, size_t* bytes, size_t* max_records) noexcept {
  *max_records = 0;
  *buffer = has_activity_.load(std::memory_order_acquire) ? writer_.LendActivity(bytes) : nullptr;
  buffer_events_.fetch_add(1, std::memory_order_relaxed);
}

void CuptiSession::OnBufferCompleted(uint8_t* buffer, size_t valid_bytes) noexcept {
  writer_.DeliverActivity(buffer, valid_bytes);
  buffer_events_.fetch_add(1, std::memory_order_relaxed);
}

void CuptiSession::Drain(bool is_final) noexcept {
  if (transcriber_.Drain(is_final) || layout_ == nullptr) return;
  // The layout is wrong: neither we nor the reader may decode with it.
  writer_.CountLoss(LossCounter::kSanityFailed);
  writer_.header().layout.cupti_version = 0;
  layout_ = nullptr;
  const bool was_recording = wanted_.load();
  SetRecording(false);
  has_activity_.store(false, std::memory_order_release);
  SetRecording(was_recording);
}

void CuptiSession::CountDropped() noexcept {
  const int64_t now_ns = writer_.NowNs();
  size_t dropped = 0;
  if (api_.get_dropped != nullptr && api_.get_dropped(nullptr, 0, &dropped) == CUPTI_SUCCESS && dropped != 0) {
    writer_.CountLoss(LossCounter::kDroppedRecords, dropped, last_dropped_check_ns_, now_ns);
  }
  last_dropped_check_ns_ = now_ns;
}

void CuptiSession::Tick() noexcept {
  if (!is_active()) return;
  if (is_fatal_.load(std::memory_order_acquire)) return Lose(last_alive_ns_);
  if (has_activity_.load(std::memory_order_acquire) && buffer_events_.load() != 0) {
    api_.flush_all(0);
    Drain(false);
    CountDropped();
  }
  LookForOthers();
  if (writer_.is_stopped()) SetRecording(false);
}

// A second registration of buffer callbacks is accepted by CUPTI without a word, and from then on our buffers no longer
// come or grow although the program copies and waits; a finalised CUPTI no longer knows our subscriber.
void CuptiSession::LookForOthers() noexcept {
  const int64_t now_ns = writer_.NowNs();
  if (api_.get_callback_state != nullptr && watched_id_ != 0) {
    const CUpti_CallbackDomain domain =
        watched_layer_ == ApiTable::kRuntime ? CUPTI_CB_DOMAIN_RUNTIME_API : CUPTI_CB_DOMAIN_DRIVER_API;
    uint32_t is_enabled = 0;
    const CUptiResult result = api_.get_callback_state(&is_enabled, subscriber_, domain, watched_id_);
    if (result != CUPTI_SUCCESS || is_enabled == 0) return Lose(last_alive_ns_);
  }
  const uint64_t evidence_count = calls_.evidence_count();
  if (!has_activity_.load() || evidence_count == last_evidence_count_) {
    last_alive_ns_ = now_ns;
    return;
  }
  const uint64_t buffer_events = buffer_events_.load(std::memory_order_relaxed);
  const uint64_t lent_bytes = LentBytes();
  if (buffer_events != last_buffer_events_ || lent_bytes != last_lent_bytes_) {
    last_evidence_count_ = evidence_count;
    last_buffer_events_ = buffer_events;
    last_lent_bytes_ = lent_bytes;
    last_alive_ns_ = now_ns;
    return;
  }
  if (evidence_count - last_evidence_count_ >= kSilentCalls && now_ns - last_alive_ns_ >= kSilentNs)
    Lose(last_alive_ns_);
}

uint64_t CuptiSession::LentBytes() noexcept {
  struct Sum {
    const capture::spool::ActivityLayout* layout;
    uint64_t bytes;
  } sum{layout_, 0};
  if (layout_ == nullptr) return 0;
  writer_.VisitLent(
      [](void* context, const uint8_t* body, size_t bytes) {
        Sum& total = *static_cast<Sum*>(context);
        capture::spool::ActivityCursor cursor(*total.layout, body, bytes);
        RawActivity raw;
        while (cursor.Next(raw)) {
        }
        total.bytes += cursor.offset();
      },
      &sum);
  return sum.bytes;
}

// From here on CUPTI is somebody else's: no call into it any more.
void CuptiSession::Lose(int64_t since_ns) noexcept {
  is_active_.store(false, std::memory_order_release);
  calls_.SetRecording(false);
  writer_.CountLoss(LossCounter::kGpuSideLost, 1, since_ns, writer_.NowNs());
  writer_.header().gpu_state.store(GpuState::kLost, std::memory_order_release);
}

void CuptiSession::Finish() noexcept {
  if (!is_active()) return;
  if (is_fatal_.load(std::memory_order_acquire)) return Lose(last_alive_ns_);
  calls_.SetRecording(false);
  if (!has_activity_.load(std::memory_order_acquire) || buffer_events_.load() == 0) return;
  api_.flush_all(0);
  Drain(false);
  api_.flush_all(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
  Drain(true);
  CountDropped();
}

void CuptiSession::ForgetAfterFork() noexcept {
  is_active_.store(false, std::memory_order_release);
  has_activity_.store(false, std::memory_order_release);
  g_session.store(nullptr, std::memory_order_release);
  calls_.SetRecording(false);
  calls_.ForgetAfterFork();
  graphs_.ForgetAfterFork();
}

}  // namespace stallhound::record
