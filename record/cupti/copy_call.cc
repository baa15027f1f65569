#include "record/cupti/copy_call.h"

#include <string.h>

#include <optional>

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
constexpr CopyEnd kStruct2D = CopyEnd::kStruct2D;
constexpr CopyEnd kStruct3D = CopyEnd::kStruct3D;
constexpr CopyEnd kBatch = CopyEnd::kBatch;

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
    {"cuMemcpy2D_v2", kStruct2D, kStruct2D, 0, 0},
    {"cuMemcpy2DUnaligned_v2", kStruct2D, kStruct2D, 0, 0},
    {"cuMemcpy2DAsync_v2", kStruct2D, kStruct2D, 0, 0},
    {"cuMemcpy3D_v2", kStruct3D, kStruct3D, 0, 0},
    {"cuMemcpy3DAsync_v2", kStruct3D, kStruct3D, 0, 0},
    {"cuMemcpy3DPeer", kStruct3D, kStruct3D, 0, 0},
    {"cuMemcpy3DPeerAsync", kStruct3D, kStruct3D, 0, 0},
    {"cuMemcpyBatchAsync", kBatch, kBatch, 8, 0},
    {"cuMemcpyBatchAsync_v2", kBatch, kBatch, 8, 0},
};
constexpr int8_t kBatchSizesAt = 16;
constexpr int8_t kBatchCountAt = 24;

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

// Null: not known.
std::optional<uint32_t> DeviceOf(const End& end, PointerAttributesFunction attributes) {
  CUpointer_attribute name = CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL;
  int ordinal = -1;
  void* value = &ordinal;
  if (attributes == nullptr || attributes(1, &name, &value, end.pointer) != CUDA_SUCCESS) return std::nullopt;
  return ordinal < 0 ? std::nullopt : std::optional(static_cast<uint32_t>(ordinal));
}

Side SideOf(const End& end, MemoryKind kind) {
  if (end.end == kHost) return kHostSide;
  switch (kind) {
    case MemoryKind::kPageable:
    case MemoryKind::kPinned:
      return kHostSide;
    case MemoryKind::kArray:
      return kArraySide;
    case MemoryKind::kUnknown:
      return kUnknownSide;
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

bool IsStruct(const CopyCall& call) { return call.source == kStruct2D || call.source == kStruct3D; }

struct Ends {
  End source;
  End target;
  uint64_t bytes;
};

Ends EndsOf(const CopyCall& call, const void* values, size_t index) {
  const uint64_t source = WordAt(values, call.source_at);
  const uint64_t target = WordAt(values, call.target_at);
  if (call.source == kBatch) {
    const auto word = [index](uint64_t array) { return reinterpret_cast<const uint64_t*>(array)[index]; };
    return {{kPointer, word(source)}, {kPointer, word(target)}, word(WordAt(values, kBatchSizesAt))};
  }
  if (!IsStruct(call)) return {{call.source, source}, {call.target, target}, capture::spool::kNone64};
  if (call.source == kStruct2D) {
    const auto& copy = *reinterpret_cast<const CUDA_MEMCPY2D*>(source);
    return {EndOf(copy.srcMemoryType, copy.srcHost, copy.srcDevice),
            EndOf(copy.dstMemoryType, copy.dstHost, copy.dstDevice), copy.WidthInBytes * copy.Height};
  }
  // CUDA_MEMCPY3D_PEER has contexts where this has reserved words.
  const auto& copy = *reinterpret_cast<const CUDA_MEMCPY3D*>(source);
  return {EndOf(copy.srcMemoryType, copy.srcHost, copy.srcDevice),
          EndOf(copy.dstMemoryType, copy.dstHost, copy.dstDevice), copy.WidthInBytes * copy.Height * copy.Depth};
}

// Of a copy from device memory to device memory.
void TellPeers(const CopyCall& call, const Ends& ends, PointerAttributesFunction attributes, CopyFacts& facts) {
  const std::optional<uint32_t> source = DeviceOf(ends.source, attributes);
  const std::optional<uint32_t> target = DeviceOf(ends.target, attributes);
  const bool is_known = source && target;
  const bool is_named_peer = call.name.find("Peer") != std::string_view::npos;
  if (is_known ? *source == *target : !is_named_peer) return;
  facts.direction = CopyDirection::kPeerToPeer;
  facts.peer_device_id = target.value_or(capture::spool::kNone32);
}

}  // namespace

const CopyCall* FindCopyCall(std::string_view cupti_name) noexcept {
  const std::string_view name = ParametersName(cupti_name);
  for (const CopyCall& call : kCalls) {
    if (call.name == name) return &call;
  }
  return nullptr;
}

size_t CountCopies(const CopyCall& call, const void* values) noexcept {
  return call.source == kBatch ? WordAt(values, kBatchCountAt) : 1;
}

CopyFacts ReadCopy(const CopyCall& call, const void* values, size_t index,
                   PointerAttributesFunction attributes) noexcept {
  CopyFacts facts;
  facts.bytes = capture::spool::kNone64;
  facts.peer_device_id = capture::spool::kNone32;
  if (IsStruct(call) && WordAt(values, call.source_at) == 0) return facts;
  const Ends ends = EndsOf(call, values, index);
  facts.bytes = ends.bytes;
  facts.source_kind = KindOf(ends.source, attributes);
  facts.target_kind = KindOf(ends.target, attributes);
  facts.direction = DirectionOf(SideOf(ends.source, facts.source_kind), SideOf(ends.target, facts.target_kind));
  if (facts.direction == CopyDirection::kDeviceToDevice) TellPeers(call, ends, attributes, facts);
  return facts;
}

}  // namespace stallhound::record
