#include "record/cupti/call_parameters.h"

#include <string.h>

#include "capture/spool/format.h"

namespace stallhound::record {
namespace {

using capture::spool::kNone64;

constexpr CallParameters Sync(std::string_view name) { return {.name = name, .stream = 0}; }
constexpr CallParameters Event(std::string_view name) { return {.name = name, .event = 0}; }
constexpr CallParameters EventOnStream(std::string_view name, int8_t event, int8_t stream) {
  return {.name = name, .stream = stream, .event = event};
}
constexpr CallParameters Copy(std::string_view name, int8_t bytes, int8_t stream = -1) {
  return {.name = name, .stream = stream, .bytes = bytes};
}
constexpr CallParameters Copy2D(std::string_view name, int8_t width, int8_t stream = -1) {
  return {.name = name, .stream = stream, .bytes = width, .rows = static_cast<int8_t>(width + 8)};
}
constexpr CallParameters StreamOnly(std::string_view name, int8_t stream) { return {.name = name, .stream = stream}; }
constexpr CallParameters Allocate(std::string_view name, int8_t stream = -1) {
  return {.name = name, .stream = stream, .bytes = 8, .result = 0};
}
constexpr CallParameters Free(std::string_view name, int8_t stream = -1) {
  return {.name = name, .stream = stream, .address = 0};
}
constexpr CallParameters Register(std::string_view name) { return {.name = name, .bytes = 8, .address = 0}; }
constexpr CallParameters Pitched(std::string_view name) { return {.name = name, .bytes = 16, .rows = 24, .result = 0}; }

constexpr CallParameters kCalls[] = {
    Sync("cudaStreamSynchronize"),
    Sync("cudaStreamQuery"),
    Sync("cuStreamSynchronize"),
    Sync("cuStreamQuery"),
    Event("cudaEventSynchronize"),
    Event("cudaEventQuery"),
    Event("cuEventSynchronize"),
    Event("cuEventQuery"),
    EventOnStream("cudaEventRecord", 0, 8),
    EventOnStream("cudaEventRecordWithFlags", 0, 8),
    EventOnStream("cuEventRecord", 0, 8),
    EventOnStream("cuEventRecordWithFlags", 0, 8),
    EventOnStream("cudaStreamWaitEvent", 8, 0),
    EventOnStream("cuStreamWaitEvent", 8, 0),
    StreamOnly("cudaLaunchHostFunc", 0),
    StreamOnly("cudaStreamAddCallback", 0),
    StreamOnly("cuLaunchHostFunc", 0),
    StreamOnly("cuStreamAddCallback", 0),
    Copy("cudaMemcpy", 16),
    Copy("cudaMemcpyAsync", 16, 32),
    Copy("cudaMemcpyToSymbol", 16),
    Copy("cudaMemcpyToSymbolAsync", 16, 40),
    Copy("cudaMemcpyFromSymbol", 16),
    Copy("cudaMemcpyFromSymbolAsync", 16, 40),
    Copy("cudaMemcpyPeer", 32),
    Copy("cudaMemcpyPeerAsync", 32, 40),
    Copy2D("cudaMemcpy2D", 32),
    Copy2D("cudaMemcpy2DAsync", 32, 56),
    StreamOnly("cudaMemcpy3DAsync", 8),
    StreamOnly("cudaMemcpy3DPeerAsync", 8),
    Copy("cuMemcpy", 16),
    Copy("cuMemcpyAsync", 16, 24),
    Copy("cuMemcpyHtoD_v2", 16),
    Copy("cuMemcpyHtoDAsync_v2", 16, 24),
    Copy("cuMemcpyDtoH_v2", 16),
    Copy("cuMemcpyDtoHAsync_v2", 16, 24),
    Copy("cuMemcpyDtoD_v2", 16),
    Copy("cuMemcpyDtoDAsync_v2", 16, 24),
    Copy("cuMemcpyDtoA_v2", 24),
    Copy("cuMemcpyAtoD_v2", 24),
    Copy("cuMemcpyHtoA_v2", 24),
    Copy("cuMemcpyHtoAAsync_v2", 24, 32),
    Copy("cuMemcpyAtoH_v2", 24),
    Copy("cuMemcpyAtoHAsync_v2", 24, 32),
    Copy("cuMemcpyAtoA_v2", 32),
    Copy("cuMemcpyPeer", 32),
    Copy("cuMemcpyPeerAsync", 32, 40),
    StreamOnly("cuMemcpyBatchAsync", 64),
    StreamOnly("cuMemcpyBatchAsync_v2", 56),
    StreamOnly("cuMemcpy2DAsync_v2", 8),
    StreamOnly("cuMemcpy3DAsync_v2", 8),
    StreamOnly("cuMemcpy3DPeerAsync", 8),
    Allocate("cudaMalloc"),
    Allocate("cudaMallocManaged"),
    Allocate("cudaMallocHost"),
    Allocate("cudaHostAlloc"),
    Allocate("cudaMallocAsync", 16),
    Allocate("cudaMallocFromPoolAsync", 24),
    Pitched("cudaMallocPitch"),
    Allocate("cuMemAlloc_v2"),
    Allocate("cuMemAllocManaged"),
    Allocate("cuMemAllocHost_v2"),
    Allocate("cuMemHostAlloc"),
    Allocate("cuMemHostAlloc_v2"),
    Allocate("cuMemAllocAsync", 16),
    Allocate("cuMemAllocFromPoolAsync", 24),
    Pitched("cuMemAllocPitch_v2"),
    Free("cudaFree"),
    Free("cudaFreeHost"),
    Free("cudaFreeAsync", 8),
    Free("cudaHostUnregister"),
    Free("cuMemFree_v2"),
    Free("cuMemFreeHost"),
    Free("cuMemFreeAsync", 8),
    Free("cuMemHostUnregister"),
    Register("cudaHostRegister"),
    Register("cuMemHostRegister"),
    Register("cuMemHostRegister_v2"),
    Register("cuMemMap"),
    Register("cuMemUnmap"),
    {.name = "cuMemCreate", .bytes = 8},
};

bool HasSuffix(std::string_view text, std::string_view suffix) {
  return text.size() >= suffix.size() && text.substr(text.size() - suffix.size()) == suffix;
}

bool IsVersion(std::string_view text) {
  return text.size() >= 4 && text.find_first_not_of("0123456789") == std::string_view::npos;
}

uint64_t ReadWord(const void* values, int8_t offset) {
  uint64_t word;
  memcpy(&word, static_cast<const uint8_t*>(values) + offset, sizeof(word));
  return word;
}

}  // namespace

std::string_view ParametersName(std::string_view cupti_name) noexcept {
  // The runtime's versions have at least four digits; the driver's _v2 is another function.
  const size_t version = cupti_name.rfind("_v");
  if (version != std::string_view::npos && IsVersion(cupti_name.substr(version + 2))) {
    cupti_name = cupti_name.substr(0, version);
  }
  if (HasSuffix(cupti_name, "_ptsz") || HasSuffix(cupti_name, "_ptds")) cupti_name.remove_suffix(5);
  return cupti_name;
}

const CallParameters* FindCallParameters(std::string_view cupti_name) noexcept {
  const std::string_view name = ParametersName(cupti_name);
  for (const CallParameters& call : kCalls) {
    if (call.name == name) return &call;
  }
  return nullptr;
}

CallDetails ReadCallDetails(const CallParameters* parameters, const void* values, bool has_succeeded) noexcept {
  CallDetails details{nullptr, false, kNone64, kNone64, kNone64};
  if (parameters == nullptr || values == nullptr) return details;
  if (parameters->stream >= 0) {
    details.stream = reinterpret_cast<const void*>(ReadWord(values, parameters->stream));
    details.has_stream = true;
  }
  if (parameters->event >= 0) details.event = ReadWord(values, parameters->event);
  if (parameters->bytes >= 0) details.bytes = ReadWord(values, parameters->bytes);
  if (parameters->rows >= 0) details.bytes *= ReadWord(values, parameters->rows);
  if (parameters->address >= 0) details.address = ReadWord(values, parameters->address);
  if (parameters->result >= 0 && has_succeeded) {
    const auto* result = reinterpret_cast<const uint64_t*>(ReadWord(values, parameters->result));
    if (result != nullptr) memcpy(&details.address, result, sizeof(details.address));
  }
  return details;
}

}  // namespace stallhound::record
