#include "record/nvtx/nvtx_injection.h"

#define NVTX_NO_IMPL
#include <nvtx3/nvToolsExt.h>

#include <cstddef>
#include <cstring>

#include "record/nvtx/wide_text.h"

namespace stallhound::record {
namespace {

std::atomic<NvtxRecorder*> current{nullptr};

NvtxRecorder* Recorder() { return current.load(std::memory_order_acquire); }

std::string_view View(const char* text) { return text != nullptr ? std::string_view(text) : std::string_view(); }

// Handles given to NVTX are the tables' handles, as pointers that nobody follows.
template <typename NvtxHandle>
NvtxHandle ToNvtx(uint32_t handle) {
  return reinterpret_cast<NvtxHandle>(static_cast<uintptr_t>(handle));
}
uint32_t FromNvtx(const void* handle) { return static_cast<uint32_t>(reinterpret_cast<uintptr_t>(handle)); }

int64_t PayloadOf(const nvtxEventAttributes_t& attributes) {
  switch (attributes.payloadType) {
    case NVTX_PAYLOAD_TYPE_UNSIGNED_INT64:
    case NVTX_PAYLOAD_TYPE_INT64:
      return attributes.payload.llValue;
    case NVTX_PAYLOAD_TYPE_UNSIGNED_INT32:
      return attributes.payload.uiValue;
    case NVTX_PAYLOAD_TYPE_INT32:
      return attributes.payload.iValue;
    default:
      return capture::spool::kNonePayload;
  }
}

// An event with the text it points at.
class Event {
 public:
  Event(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* attributes) {
    event_.domain = FromNvtx(domain);
    constexpr size_t kNeeded = offsetof(nvtxEventAttributes_t, message) + sizeof(nvtxMessageValue_t);
    if (attributes == nullptr || attributes->size < kNeeded) return;
    event_.category = attributes->category;
    event_.payload = PayloadOf(*attributes);
    switch (attributes->messageType) {
      case NVTX_MESSAGE_TYPE_ASCII:
        event_.text = View(attributes->message.ascii);
        break;
      case NVTX_MESSAGE_TYPE_UNICODE:
        event_.text = text_.Convert(attributes->message.unicode);
        break;
      case NVTX_MESSAGE_TYPE_REGISTERED:
        event_.registered = FromNvtx(attributes->message.registered);
        break;
      default:
        break;
    }
  }
  explicit Event(const char* text) { event_.text = View(text); }
  explicit Event(const wchar_t* text) { event_.text = text_.Convert(text); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  const NvtxEvent& get() const { return event_; }

 private:
  WideText text_;
  NvtxEvent event_;
};

template <typename... Arguments>
void Mark(Arguments... arguments) noexcept {
  if (NvtxRecorder* recorder = Recorder()) recorder->Mark(Event(arguments...).get());
}

template <typename... Arguments>
int Push(Arguments... arguments) noexcept {
  if (NvtxRecorder* recorder = Recorder()) recorder->Push(Event(arguments...).get());
  return NVTX_NO_PUSH_POP_TRACKING;
}

int Pop(nvtxDomainHandle_t domain) noexcept {
  if (NvtxRecorder* recorder = Recorder()) recorder->Pop(FromNvtx(domain));
  return NVTX_NO_PUSH_POP_TRACKING;
}

template <typename... Arguments>
nvtxRangeId_t Start(Arguments... arguments) noexcept {
  NvtxRecorder* recorder = Recorder();
  return recorder != nullptr ? recorder->Start(Event(arguments...).get()) : 0;
}

void End(nvtxRangeId_t id) noexcept {
  if (NvtxRecorder* recorder = Recorder()) recorder->End(id);
}

void NameThread(uint32_t tid, std::string_view name) noexcept {
  if (NvtxRecorder* recorder = Recorder()) recorder->NameThread(tid, name);
}

void NameCategory(nvtxDomainHandle_t domain, uint32_t category, std::string_view name) noexcept {
  if (NvtxRecorder* recorder = Recorder()) recorder->NameCategory(FromNvtx(domain), category, name);
}

nvtxDomainHandle_t CreateDomain(std::string_view name) noexcept {
  NvtxRecorder* recorder = Recorder();
  return ToNvtx<nvtxDomainHandle_t>(recorder != nullptr ? recorder->CreateDomain(name) : 0);
}

nvtxStringHandle_t RegisterString(std::string_view text) noexcept {
  NvtxRecorder* recorder = Recorder();
  return ToNvtx<nvtxStringHandle_t>(recorder != nullptr ? recorder->RegisterString(text) : 0);
}

// Of resources only threads have a place in the spool; the handle means nothing.
nvtxResourceHandle_t CreateResource(nvtxDomainHandle_t, nvtxResourceAttributes_t* attributes) noexcept {
  if (attributes != nullptr && attributes->size >= sizeof(*attributes) &&
      attributes->identifierType == NVTX_RESOURCE_TYPE_GENERIC_THREAD_NATIVE &&
      attributes->messageType == NVTX_MESSAGE_TYPE_ASCII) {
    NameThread(static_cast<uint32_t>(attributes->identifier.ullValue), View(attributes->message.ascii));
  }
  return ToNvtx<nvtxResourceHandle_t>(1);
}

// One function per entry of the export table, in the exact type that NVTX calls.
void MarkEx(const nvtxEventAttributes_t* a) { Mark(nvtxDomainHandle_t{}, a); }
void MarkA(const char* text) { Mark(text); }
void MarkW(const wchar_t* text) { Mark(text); }
nvtxRangeId_t StartEx(const nvtxEventAttributes_t* a) { return Start(nvtxDomainHandle_t{}, a); }
nvtxRangeId_t StartA(const char* text) { return Start(text); }
nvtxRangeId_t StartW(const wchar_t* text) { return Start(text); }
int PushEx(const nvtxEventAttributes_t* a) { return Push(nvtxDomainHandle_t{}, a); }
int PushA(const char* text) { return Push(text); }
int PushW(const wchar_t* text) { return Push(text); }
int PopDefault() { return Pop(nullptr); }
void NameCategoryA(uint32_t category, const char* name) { NameCategory(nullptr, category, View(name)); }
void NameCategoryW(uint32_t category, const wchar_t* name) {
  NameCategory(nullptr, category, WideText().Convert(name));
}
void NameThreadA(uint32_t tid, const char* name) { NameThread(tid, View(name)); }
void NameThreadW(uint32_t tid, const wchar_t* name) { NameThread(tid, WideText().Convert(name)); }
void DomainMarkEx(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* a) { Mark(domain, a); }
nvtxRangeId_t DomainStartEx(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* a) { return Start(domain, a); }
void DomainEnd(nvtxDomainHandle_t, nvtxRangeId_t id) { End(id); }
int DomainPushEx(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* a) { return Push(domain, a); }
void DestroyResource(nvtxResourceHandle_t) {}
void DomainNameCategoryA(nvtxDomainHandle_t domain, uint32_t category, const char* name) {
  NameCategory(domain, category, View(name));
}
void DomainNameCategoryW(nvtxDomainHandle_t domain, uint32_t category, const wchar_t* name) {
  NameCategory(domain, category, WideText().Convert(name));
}
nvtxStringHandle_t RegisterStringA(nvtxDomainHandle_t, const char* text) { return RegisterString(View(text)); }
nvtxStringHandle_t RegisterStringW(nvtxDomainHandle_t, const wchar_t* text) {
  return RegisterString(WideText().Convert(text));
}
nvtxDomainHandle_t CreateDomainA(const char* name) { return CreateDomain(View(name)); }
nvtxDomainHandle_t CreateDomainW(const wchar_t* name) { return CreateDomain(WideText().Convert(name)); }
void DestroyDomain(nvtxDomainHandle_t) {}  // other modules may use the domain of that name

class ModuleTable {
 public:
  ModuleTable(const NvtxExportTableCallbacks& exports, NvtxCallbackModule module) {
    if (exports.GetModuleFunctionTable(module, &table_, &size_) == 0) table_ = nullptr;
  }
  bool is_valid() const { return table_ != nullptr; }
  // An older NVTX has fewer entries: what it lacks is left out.
  template <typename Function>
  void Set(unsigned int id, Function* function) {
    if (id < size_ && table_[id] != nullptr) *table_[id] = reinterpret_cast<NvtxFunctionPointer>(function);
  }

 private:
  NvtxFunctionTable table_ = nullptr;
  unsigned int size_ = 0;
};

void SetCore(ModuleTable& table) {
  table.Set(NVTX_CBID_CORE_MarkEx, MarkEx);
  table.Set(NVTX_CBID_CORE_MarkA, MarkA);
  table.Set(NVTX_CBID_CORE_MarkW, MarkW);
  table.Set(NVTX_CBID_CORE_RangeStartEx, StartEx);
  table.Set(NVTX_CBID_CORE_RangeStartA, StartA);
  table.Set(NVTX_CBID_CORE_RangeStartW, StartW);
  table.Set(NVTX_CBID_CORE_RangeEnd, End);
  table.Set(NVTX_CBID_CORE_RangePushEx, PushEx);
  table.Set(NVTX_CBID_CORE_RangePushA, PushA);
  table.Set(NVTX_CBID_CORE_RangePushW, PushW);
  table.Set(NVTX_CBID_CORE_RangePop, PopDefault);
  table.Set(NVTX_CBID_CORE_NameCategoryA, NameCategoryA);
  table.Set(NVTX_CBID_CORE_NameCategoryW, NameCategoryW);
  table.Set(NVTX_CBID_CORE_NameOsThreadA, NameThreadA);
  table.Set(NVTX_CBID_CORE_NameOsThreadW, NameThreadW);
}

void SetDomains(ModuleTable& table) {
  table.Set(NVTX_CBID_CORE2_DomainMarkEx, DomainMarkEx);
  table.Set(NVTX_CBID_CORE2_DomainRangeStartEx, DomainStartEx);
  table.Set(NVTX_CBID_CORE2_DomainRangeEnd, DomainEnd);
  table.Set(NVTX_CBID_CORE2_DomainRangePushEx, DomainPushEx);
  table.Set(NVTX_CBID_CORE2_DomainRangePop, Pop);
  table.Set(NVTX_CBID_CORE2_DomainResourceCreate, CreateResource);
  table.Set(NVTX_CBID_CORE2_DomainResourceDestroy, DestroyResource);
  table.Set(NVTX_CBID_CORE2_DomainNameCategoryA, DomainNameCategoryA);
  table.Set(NVTX_CBID_CORE2_DomainNameCategoryW, DomainNameCategoryW);
  table.Set(NVTX_CBID_CORE2_DomainRegisterStringA, RegisterStringA);
  table.Set(NVTX_CBID_CORE2_DomainRegisterStringW, RegisterStringW);
  table.Set(NVTX_CBID_CORE2_DomainCreateA, CreateDomainA);
  table.Set(NVTX_CBID_CORE2_DomainCreateW, CreateDomainW);
  table.Set(NVTX_CBID_CORE2_DomainDestroy, DestroyDomain);
}

}  // namespace

void SetNvtxRecorder(NvtxRecorder* recorder) { current.store(recorder, std::memory_order_release); }

int InjectNvtx(void* get_export_table) {
  if (get_export_table == nullptr) return 0;
  auto* get_table = reinterpret_cast<NvtxGetExportTableFunc_t>(get_export_table);
  const auto* exports = static_cast<const NvtxExportTableCallbacks*>(get_table(NVTX_ETID_CALLBACKS));
  if (exports == nullptr || exports->struct_size < sizeof(*exports) || exports->GetModuleFunctionTable == nullptr) {
    return 0;
  }
  ModuleTable core(*exports, NVTX_CB_MODULE_CORE);
  ModuleTable domains(*exports, NVTX_CB_MODULE_CORE2);
  if (!core.is_valid() || !domains.is_valid()) return 0;
  SetDomains(domains);
  SetCore(core);
  return 1;
}

}  // namespace stallhound::record
