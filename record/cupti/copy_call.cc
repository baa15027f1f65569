#include "record/cupti/copy_call.h"

#include <string.h>

#include "capture/spool/format.h"
#include "record/cupti/call_parameters.h"

namespace stallhound::record {
namespace {

using capture::CopyDirection;
using capture::MemoryKind;

constexpr CopyEnd kHost = CopyEnd::kHost;
constexpr CopyEnd kPointer = CopyEnd::kPointer;
constexpr CopyEnd kDevice = CopyEnd::kDevice;
constexpr CopyEnd kArray = CopyEnd::kArray;
constexpr CopyEnd kStruct = CopyEnd::kStruct;

constexpr CopyCall kCalls[] = {
    {"cuMemcpy", kPointer, kPointer, 8, 0},
    {"cuMemcpyAsync", kPointer, kPointer, 8, 0},
    {"cuMemcpyHtoD_v2", kHost, kDevice, 8, 0},
    {"cuMemcpyHtoDAsync_v2", kHost, kDevice, 8, 0},
    {"cuMemcpyDtoH_v2", kDevice, kHost, 8, 0},
    {"cuMemcpyDtoHAsync_v2", kDevice, kHost, 8, 0},
    {"cuMemcpyDtoD_v2", kDevice, kDevice, 8, 0},
    {"cuMemcpyDtoDAsync_v2", kDevice, kDevice, 8, 0},
    {"cuMemcpyPeer", kDevice, kDevice, 16, 0},
    {"cuMemcpyPeerAsync", kDevice, kDevice, 16, 0},
    {"cuMemcpyDtoA_v2", kDevice, kArray, 16, 0},
    {"cuMemcpyAtoD_v2", kArray, kDevice, 8, 0},
    {"cuMemcpyHtoA_v2", kHost, kArray, 16, 0},
    {"cuMemcpyHtoAAsync_v2", kHost, kArray, 16, 0},
    {"cuMemcpyAtoH_v2", kArray, kHost, 8, 0},
    {"cuMemcpyAtoHAsync_v2", kArray, kHost, 8, 0},
    {"cuMemcpyAtoA_v2", kArray, kArray, 16, 0},
    {"cuMemcpy2D_v2", kStruct, kStruct, 0, 0},
    {"cuMemcpy2DUnaligned_v2", kStruct, kStruct, 0, 0},
    {"cuMemcpy2DAsync_v2", kStruct, kStruct, 0, 0},
    {"cuMemcpy3D_v2", kStruct, kStruct, 0, 0},
    {"cuMemcpy3DAsync_v2", kStruct, kStruct, 0, 0},
    {"cuMemcpy3DPeer", kStruct, kStruct, 0, 0},
    {"cuMemcpy3DPeerAsync", kStruct, kStruct, 0, 0},
};

struct End {
  CopyEnd end;
  uint64_t pointer;
};

uint64_t WordAt(const void* values, int8_t offset) {
  uint64_t word;
  memcpy(&word, static_cast<const uint8_t*>(values) + offset, sizeof(word));
  return word;
}

End EndOf(CUmemorytype type, const void* host, CUdeviceptr device) {
  switch (type) {
    case CU_MEMORYTYPE_HOST:
      return {kHost, reinterpret_cast<uintptr_t>(host)};
    case CU_MEMORYTYPE_DEVICE:
      return {kDevice, device};
    case CU_MEMORYTYPE_ARRAY:
      return {kArray, 0};
    default:
      return {kPointer, device};
  }
}

MemoryKind KindOf(const End& end, PointerAttributesFunction attributes) {
  if (end.end == kDevice) return MemoryKind::kDevice;
  if (end.end == kArray) return MemoryKind::kArray;
  CUpointer_attribute names[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED};
  unsigned type = 0;
  unsigned is_managed = 0;
  void* values[] = {&type, &is_managed};
  if (attributes == nullptr || attributes(2, names, values, end.pointer) != CUDA_SUCCESS) return MemoryKind::kUnknown;
  if (is_managed != 0) return MemoryKind::kManaged;
  if (type == CU_MEMORYTYPE_DEVICE) return MemoryKind::kDevice;
  // The driver knows nothing of memory that it did not allocate or register.
  return type == CU_MEMORYTYPE_HOST ? MemoryKind::kPinned : MemoryKind::kPageable;
}

enum Side { kHostSide, kDeviceSide, kArraySide, kUnknownSide };

Side SideOf(const End& end, MemoryKind kind) {
  switch (kind) {
    case MemoryKind::kPageable:
    case MemoryKind::kPinned:
      return kHostSide;
    case MemoryKind::kArray:
      return kArraySide;
    case MemoryKind::kUnknown:
      return end.end == kHost ? kHostSide : kUnknownSide;
    default:
      return kDeviceSide;
  }
}

CopyDirection DirectionOf(Side source, Side target) {
  constexpr CopyDirection kDirections[3][3] = {
      {CopyDirection::kHostToHost, CopyDirection::kHostToDevice, CopyDirection::kHostToArray},
      {CopyDirection::kDeviceToHost, CopyDirection::kDeviceToDevice, CopyDirection::kDeviceToArray},
      {CopyDirection::kArrayToHost, CopyDirection::kArrayToDevice, CopyDirection::kArrayToArray},
  };
  return source == kUnknownSide || target == kUnknownSide ? CopyDirection::kUnknown : kDirections[source][target];
}

}  // namespace

const CopyCall* FindCopyCall(std::string_view cupti_name) noexcept {
  const std::string_view name = ParametersName(cupti_name);
  for (const CopyCall& call : kCalls) {
    if (call.name == name) return &call;
  }
  return nullptr;
}

CopyFacts ReadCopy(const CopyCall& call, const void* values, PointerAttributesFunction attributes) noexcept {
  const bool is_peer = call.name.find("Peer") != std::string_view::npos;
  const bool is_2d = call.name.find("2D") != std::string_view::npos;
  const uint64_t source_word = WordAt(values, call.source_at);
  const uint64_t target_word = WordAt(values, call.target_at);
  End source{call.source, source_word};
  End target{call.target, target_word};
  CopyFacts facts;
  facts.bytes = capture::spool::kNone64;
  if (call.source == kStruct && source_word == 0) return facts;
  if (call.source == kStruct && is_2d) {
    const auto& copy = *reinterpret_cast<const CUDA_MEMCPY2D*>(source_word);
    source = EndOf(copy.srcMemoryType, copy.srcHost, copy.srcDevice);
    target = EndOf(copy.dstMemoryType, copy.dstHost, copy.dstDevice);
    facts.bytes = copy.WidthInBytes * copy.Height;
  } else if (call.source == kStruct) {
    // CUDA_MEMCPY3D_PEER has contexts where this has reserved words.
    const auto& copy = *reinterpret_cast<const CUDA_MEMCPY3D*>(source_word);
    source = EndOf(copy.srcMemoryType, copy.srcHost, copy.srcDevice);
    target = EndOf(copy.dstMemoryType, copy.dstHost, copy.dstDevice);
    facts.bytes = copy.WidthInBytes * copy.Height * copy.Depth;
  }
  facts.source_kind = KindOf(source, attributes);
  facts.target_kind = KindOf(target, attributes);
  const Side source_side = SideOf(source, facts.source_kind);
  const Side target_side = SideOf(target, facts.target_kind);
  const bool is_between_devices = is_peer && source_side == kDeviceSide && target_side == kDeviceSide;
  facts.direction = is_between_devices ? CopyDirection::kPeerToPeer : DirectionOf(source_side, target_side);
  return facts;
}

}  // namespace stallhound::record
