#pragma once

// What a CUDA API call is, by its name. The one table that the recorder (through CUPTI's callback ids), the importers
// and the analyses share. std only.

#include <cstdint>
#include <string_view>

namespace stallhound::capture {

// Stored in files: append only.
enum class ApiClass : uint8_t {
  kOther = 0,
  kKernelLaunch,
  kGraphLaunch,
  kCopyBlocking,  // every copy without Async in its name
  kCopyAsync,
  kMemset,
  kDeviceSync,  // device and context
  kStreamSync,
  kEventSync,
  kQuery,  // event and stream query
  kEventRecord,
  kStreamWaitEvent,
  kDeviceAllocate,  // cudaMalloc in all forms that are not stream-ordered
  kDeviceFree,
  kHostAllocate,
  kHostFree,
  kHostRegister,
  kHostUnregister,
  kVirtualMemory,  // cuMemCreate, cuMemMap, cuMemUnmap, cuMemRelease
  kStreamOrderedAllocate,
  kStreamOrderedFree,
  kModuleLoad,
  kModuleUnload,
  kGraphInstantiate,
  kEventDestroy,
  kHostFunction,  // runs a function of the host behind the work of a stream
};
inline constexpr ApiClass kLastApiClass = ApiClass::kHostFunction;

// The name without version, per-thread-stream and variant suffixes:
// "cudaMemcpyAsync_ptsz_v7000" -> "cudaMemcpyAsync", "cuMemcpyDtoH_v2" -> "cuMemcpyDtoH". A view into `name`.
std::string_view NormalizeApiName(std::string_view name);

// The class of a call, by its name as CUPTI, Nsight or Kineto write it (suffixes allowed). kOther if not in the table.
ApiClass ClassifyApi(std::string_view name);

// True for classes whose calls are sync points of themselves (design: wait, allocator, loader); asynchronous copies
// depend on their memory kinds and are not in it.
bool MaySyncHost(ApiClass api_class);

const char* ApiClassName(ApiClass api_class);

}  // namespace stallhound::capture
