#pragma once

// What a driver call that copies says of its two ends. Light mode takes copies from here: CUPTI's own records of copies
// would make every launch slower (cupti_session.cc). Every copy of the runtime is made by such a call. Offsets are
// those of CUPTI's generated_cuda_meta.h; a test checks them. std, CUDA driver header.

#include <cuda.h>

#include <cstdint>
#include <string_view>

#include "capture/types.h"

namespace stallhound::record {

using PointerAttributesFunction = decltype(&cuPointerGetAttributes);

enum class CopyEnd : uint8_t {
  kHost,     // the parameter is a host pointer
  kPointer,  // of the unified address space
  kDevice,
  kArray,
  kStruct2D,  // the parameter is a CUDA_MEMCPY2D with both ends
  kStruct3D,  // CUDA_MEMCPY3D or CUDA_MEMCPY3D_PEER
  kBatch,     // an array of unified pointers; sizes and their number follow
};

struct CopyCall {
  std::string_view name;  // as CallParameters::name
  CopyEnd source;
  CopyEnd target;
  int8_t source_at;  // offset of the parameter
  int8_t target_at;
};

// Null: no such call, or one of which nothing is known (batches of 3D copies).
const CopyCall* FindCopyCall(std::string_view cupti_name) noexcept;

// How many copies the call makes.
size_t CountCopies(const CopyCall& call, const void* values) noexcept;

struct CopyFacts {
  capture::CopyDirection direction = capture::CopyDirection::kUnknown;
  capture::MemoryKind source_kind = capture::MemoryKind::kUnknown;
  capture::MemoryKind target_kind = capture::MemoryKind::kUnknown;
  uint64_t bytes;           // kNone64: as the call's other parameters say
  uint32_t peer_device_id;  // the target's, if direction is kPeerToPeer; kNone32: none, or not known
};

// The copy number `index`. `attributes` tells pageable host memory from pinned and one device's from another's; null:
// kUnknown. Asks it at most twice a pointer: about 0.1 us each.
CopyFacts ReadCopy(const CopyCall& call, const void* values, size_t index,
                   PointerAttributesFunction attributes) noexcept;

}  // namespace stallhound::record
