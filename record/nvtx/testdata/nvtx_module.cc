// Built twice, as two shared objects that each carry NVTX, like the libraries of one framework.

#include <nvtx3/nvToolsExt.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace {

nvtxDomainHandle_t SharedDomain() {
  static nvtxDomainHandle_t domain = nvtxDomainCreateA("shared domain");
  return domain;
}

nvtxEventAttributes_t Attributes() {
  nvtxEventAttributes_t attributes = {};
  attributes.version = NVTX_VERSION;
  attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  return attributes;
}

}  // namespace

extern "C" {

// One of each call.
void MarkEverything() {
  nvtxRangePushA("ascii push");
  nvtxRangePushW(L"wide push \u00e9\u4e2d");
  nvtxMarkA("ascii mark");
  nvtxMarkW(L"wide mark");
  nvtxRangePop();
  nvtxRangePop();

  nvtxNameCategoryA(7, "default category");
  nvtxDomainNameCategoryA(SharedDomain(), 7, "domain category");
  nvtxEventAttributes_t attributes = Attributes();
  attributes.category = 7;
  attributes.payloadType = NVTX_PAYLOAD_TYPE_INT64;
  attributes.payload.llValue = -42;
  attributes.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  attributes.message.registered = nvtxDomainRegisterStringA(SharedDomain(), "registered name");
  nvtxDomainRangePushEx(SharedDomain(), &attributes);
  nvtxDomainRangePop(SharedDomain());

  attributes = Attributes();
  attributes.category = 9;
  attributes.payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT32;
  attributes.payload.uiValue = 0xffffffffu;
  attributes.messageType = NVTX_MESSAGE_TYPE_ASCII;
  attributes.message.ascii = "range with attributes";
  const nvtxRangeId_t range = nvtxDomainRangeStartEx(SharedDomain(), &attributes);
  nvtxDomainRangeEnd(SharedDomain(), range);
  const nvtxRangeId_t second = nvtxRangeStartA("process range");
  nvtxRangeEnd(second);
  attributes.category = 7;
  attributes.payloadType = NVTX_PAYLOAD_TYPE_DOUBLE;
  nvtxMarkEx(&attributes);

  nvtxNameOsThreadA(static_cast<uint32_t>(syscall(SYS_gettid)), "named thread");
  nvtxResourceAttributes_t resource = {};
  resource.version = NVTX_VERSION;
  resource.size = NVTX_RESOURCE_ATTRIB_STRUCT_SIZE;
  resource.identifierType = NVTX_RESOURCE_TYPE_GENERIC_POINTER;
  resource.messageType = NVTX_MESSAGE_TYPE_ASCII;
  resource.message.ascii = "a mutex";
  nvtxDomainResourceDestroy(nvtxDomainResourceCreate(SharedDomain(), &resource));
  nvtxDomainDestroy(nvtxDomainCreateA("short-lived domain"));
}

// What a careless caller may pass.
void MarkBadly() {
  nvtxRangePushA(nullptr);
  nvtxRangePop();
  nvtxRangePop();
  nvtxDomainMarkEx(nullptr, nullptr);
  nvtxEventAttributes_t attributes = Attributes();
  attributes.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  attributes.message.registered = reinterpret_cast<nvtxStringHandle_t>(0x7fffffff);
  nvtxMarkEx(&attributes);
  nvtxDomainMarkEx(reinterpret_cast<nvtxDomainHandle_t>(0x7fffffff), &attributes);
  attributes.size = 8;
  attributes.messageType = NVTX_MESSAGE_TYPE_ASCII;
  attributes.message.ascii = "beyond the size";
  nvtxMarkEx(&attributes);
  nvtxRangeEnd(987654321);
}

void PushAndPop(int count) {
  for (int i = 0; i < count; ++i) {
    nvtxRangePushA("threaded");
    nvtxRangePop();
  }
}
}
