#include "capture/api/api_class.h"

#include <algorithm>
#include <iterator>

namespace stallhound::capture {
namespace {

struct Entry {
  std::string_view name;  // without prefix (cuda, cu64, cu): runtime and driver share their words
  ApiClass api_class;
};

// Sorted by name.
constexpr Entry kEntries[] = {
    {"Array3DCreate", ApiClass::kDeviceAllocate},
    {"ArrayCreate", ApiClass::kDeviceAllocate},
    {"ArrayDestroy", ApiClass::kDeviceFree},
    {"CtxSynchronize", ApiClass::kDeviceSync},
    {"CtxWaitEvent", ApiClass::kStreamWaitEvent},
    {"DeviceSynchronize", ApiClass::kDeviceSync},
    {"EventDestroy", ApiClass::kEventDestroy},
    {"EventQuery", ApiClass::kQuery},
    {"EventRecord", ApiClass::kEventRecord},
    {"EventRecordWithFlags", ApiClass::kEventRecord},
    {"EventSynchronize", ApiClass::kEventSync},
    {"Free", ApiClass::kDeviceFree},
    {"FreeArray", ApiClass::kDeviceFree},
    {"FreeAsync", ApiClass::kStreamOrderedFree},
    {"FreeHost", ApiClass::kHostFree},
    {"FreeMipmappedArray", ApiClass::kDeviceFree},
    {"GraphInstantiate", ApiClass::kGraphInstantiate},
    {"GraphInstantiateWithFlags", ApiClass::kGraphInstantiate},
    {"GraphInstantiateWithParams", ApiClass::kGraphInstantiate},
    {"GraphLaunch", ApiClass::kGraphLaunch},
    {"GreenCtxWaitEvent", ApiClass::kStreamWaitEvent},
    {"HostAlloc", ApiClass::kHostAllocate},
    {"HostRegister", ApiClass::kHostRegister},
    {"HostUnregister", ApiClass::kHostUnregister},
    {"InitModule", ApiClass::kModuleLoad},
    {"Launch", ApiClass::kKernelLaunch},
    {"LaunchCooperativeKernel", ApiClass::kKernelLaunch},
    {"LaunchCooperativeKernelMultiDevice", ApiClass::kKernelLaunch},
    {"LaunchGrid", ApiClass::kKernelLaunch},
    {"LaunchGridAsync", ApiClass::kKernelLaunch},
    {"LaunchHostFunc", ApiClass::kHostFunction},
    {"LaunchKernel", ApiClass::kKernelLaunch},
    {"LaunchKernelEx", ApiClass::kKernelLaunch},
    {"LaunchKernelExC", ApiClass::kKernelLaunch},
    {"LibraryLoadData", ApiClass::kModuleLoad},
    {"LibraryLoadFromFile", ApiClass::kModuleLoad},
    {"LibraryUnload", ApiClass::kModuleUnload},
    {"Malloc", ApiClass::kDeviceAllocate},
    {"Malloc3D", ApiClass::kDeviceAllocate},
    {"Malloc3DArray", ApiClass::kDeviceAllocate},
    {"MallocArray", ApiClass::kDeviceAllocate},
    {"MallocAsync", ApiClass::kStreamOrderedAllocate},
    {"MallocFromPoolAsync", ApiClass::kStreamOrderedAllocate},
    {"MallocHost", ApiClass::kHostAllocate},
    {"MallocManaged", ApiClass::kDeviceAllocate},
    {"MallocMipmappedArray", ApiClass::kDeviceAllocate},
    {"MallocPitch", ApiClass::kDeviceAllocate},
    {"MemAlloc", ApiClass::kDeviceAllocate},
    {"MemAllocAsync", ApiClass::kStreamOrderedAllocate},
    {"MemAllocFromPoolAsync", ApiClass::kStreamOrderedAllocate},
    {"MemAllocHost", ApiClass::kHostAllocate},
    {"MemAllocManaged", ApiClass::kDeviceAllocate},
    {"MemAllocPitch", ApiClass::kDeviceAllocate},
    {"MemCreate", ApiClass::kVirtualMemory},
    {"MemFree", ApiClass::kDeviceFree},
    {"MemFreeAsync", ApiClass::kStreamOrderedFree},
    {"MemFreeHost", ApiClass::kHostFree},
    {"MemHostAlloc", ApiClass::kHostAllocate},
    {"MemHostRegister", ApiClass::kHostRegister},
    {"MemHostUnregister", ApiClass::kHostUnregister},
    {"MemMap", ApiClass::kVirtualMemory},
    {"MemRelease", ApiClass::kVirtualMemory},
    {"MemUnmap", ApiClass::kVirtualMemory},
    {"Memcpy", ApiClass::kCopyBlocking},
    {"Memcpy2D", ApiClass::kCopyBlocking},
    {"Memcpy2DArrayToArray", ApiClass::kCopyBlocking},
    {"Memcpy2DAsync", ApiClass::kCopyAsync},
    {"Memcpy2DFromArray", ApiClass::kCopyBlocking},
    {"Memcpy2DFromArrayAsync", ApiClass::kCopyAsync},
    {"Memcpy2DToArray", ApiClass::kCopyBlocking},
    {"Memcpy2DToArrayAsync", ApiClass::kCopyAsync},
    {"Memcpy2DUnaligned", ApiClass::kCopyBlocking},
    {"Memcpy3D", ApiClass::kCopyBlocking},
    {"Memcpy3DAsync", ApiClass::kCopyAsync},
    {"Memcpy3DBatchAsync", ApiClass::kCopyAsync},
    {"Memcpy3DPeer", ApiClass::kCopyBlocking},
    {"Memcpy3DPeerAsync", ApiClass::kCopyAsync},
    {"Memcpy3DWithAttributesAsync", ApiClass::kCopyAsync},
    {"MemcpyArrayToArray", ApiClass::kCopyBlocking},
    {"MemcpyAsync", ApiClass::kCopyAsync},
    {"MemcpyAtoA", ApiClass::kCopyBlocking},
    {"MemcpyAtoD", ApiClass::kCopyBlocking},
    {"MemcpyAtoH", ApiClass::kCopyBlocking},
    {"MemcpyAtoHAsync", ApiClass::kCopyAsync},
    {"MemcpyBatchAsync", ApiClass::kCopyAsync},
    {"MemcpyDtoA", ApiClass::kCopyBlocking},
    {"MemcpyDtoD", ApiClass::kCopyBlocking},
    {"MemcpyDtoDAsync", ApiClass::kCopyAsync},
    {"MemcpyDtoH", ApiClass::kCopyBlocking},
    {"MemcpyDtoHAsync", ApiClass::kCopyAsync},
    {"MemcpyFromArray", ApiClass::kCopyBlocking},
    {"MemcpyFromArrayAsync", ApiClass::kCopyAsync},
    {"MemcpyFromSymbol", ApiClass::kCopyBlocking},
    {"MemcpyFromSymbolAsync", ApiClass::kCopyAsync},
    {"MemcpyHtoA", ApiClass::kCopyBlocking},
    {"MemcpyHtoAAsync", ApiClass::kCopyAsync},
    {"MemcpyHtoD", ApiClass::kCopyBlocking},
    {"MemcpyHtoDAsync", ApiClass::kCopyAsync},
    {"MemcpyPeer", ApiClass::kCopyBlocking},
    {"MemcpyPeerAsync", ApiClass::kCopyAsync},
    {"MemcpyToArray", ApiClass::kCopyBlocking},
    {"MemcpyToArrayAsync", ApiClass::kCopyAsync},
    {"MemcpyToSymbol", ApiClass::kCopyBlocking},
    {"MemcpyToSymbolAsync", ApiClass::kCopyAsync},
    {"MemcpyWithAttributesAsync", ApiClass::kCopyAsync},
    {"Memset", ApiClass::kMemset},
    {"Memset2D", ApiClass::kMemset},
    {"Memset2DAsync", ApiClass::kMemset},
    {"Memset3D", ApiClass::kMemset},
    {"Memset3DAsync", ApiClass::kMemset},
    {"MemsetAsync", ApiClass::kMemset},
    {"MemsetD16", ApiClass::kMemset},
    {"MemsetD16Async", ApiClass::kMemset},
    {"MemsetD2D16", ApiClass::kMemset},
    {"MemsetD2D16Async", ApiClass::kMemset},
    {"MemsetD2D32", ApiClass::kMemset},
    {"MemsetD2D32Async", ApiClass::kMemset},
    {"MemsetD2D8", ApiClass::kMemset},
    {"MemsetD2D8Async", ApiClass::kMemset},
    {"MemsetD32", ApiClass::kMemset},
    {"MemsetD32Async", ApiClass::kMemset},
    {"MemsetD8", ApiClass::kMemset},
    {"MemsetD8Async", ApiClass::kMemset},
    {"MipmappedArrayCreate", ApiClass::kDeviceAllocate},
    {"MipmappedArrayDestroy", ApiClass::kDeviceFree},
    {"ModuleLoad", ApiClass::kModuleLoad},
    {"ModuleLoadData", ApiClass::kModuleLoad},
    {"ModuleLoadDataEx", ApiClass::kModuleLoad},
    {"ModuleLoadFatBinary", ApiClass::kModuleLoad},
    {"ModuleUnload", ApiClass::kModuleUnload},
    {"StreamAddCallback", ApiClass::kHostFunction},
    {"StreamQuery", ApiClass::kQuery},
    {"StreamSynchronize", ApiClass::kStreamSync},
    {"StreamWaitEvent", ApiClass::kStreamWaitEvent},
    {"ThreadSynchronize", ApiClass::kDeviceSync},
};

constexpr bool ByName(const Entry& a, const Entry& b) { return a.name < b.name; }
static_assert(std::is_sorted(std::begin(kEntries), std::end(kEntries), ByName));

constexpr const char* kClassNames[] = {
    "other",
    "kernel-launch",
    "graph-launch",
    "copy-blocking",
    "copy-async",
    "memset",
    "device-sync",
    "stream-sync",
    "event-sync",
    "query",
    "event-record",
    "stream-wait-event",
    "device-allocate",
    "device-free",
    "host-allocate",
    "host-free",
    "host-register",
    "host-unregister",
    "virtual-memory",
    "stream-ordered-allocate",
    "stream-ordered-free",
    "module-load",
    "module-unload",
    "graph-instantiate",
    "event-destroy",
    "host-function",
};
static_assert(std::size(kClassNames) == static_cast<size_t>(kLastApiClass) + 1);

bool IsDigits(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// Removes one "_v2", "_v11010", "_ptsz" or "_ptds" from the end.
bool StripSuffix(std::string_view& name) {
  const size_t at = name.rfind('_');
  if (at == std::string_view::npos || at == 0) return false;
  const std::string_view suffix = name.substr(at + 1);
  const bool is_version = suffix.size() > 1 && suffix[0] == 'v' && IsDigits(suffix.substr(1));
  if (!is_version && suffix != "ptsz" && suffix != "ptds") return false;
  name.remove_suffix(name.size() - at);
  return true;
}

bool StripPrefix(std::string_view& name, std::string_view prefix) {
  if (name.substr(0, prefix.size()) != prefix) return false;
  name.remove_prefix(prefix.size());
  return true;
}

}  // namespace

std::string_view NormalizeApiName(std::string_view name) {
  while (StripSuffix(name)) {
  }
  return name;
}

ApiClass ClassifyApi(std::string_view name) {
  name = NormalizeApiName(name);
  StripPrefix(name, "__");
  if (!StripPrefix(name, "cuda") && !StripPrefix(name, "cu64") && !StripPrefix(name, "cu")) return ApiClass::kOther;
  const Entry wanted{name, ApiClass::kOther};
  const Entry* entry = std::lower_bound(std::begin(kEntries), std::end(kEntries), wanted, ByName);
  return entry != std::end(kEntries) && entry->name == name ? entry->api_class : ApiClass::kOther;
}

bool MaySyncHost(ApiClass api_class) {
  switch (api_class) {
    case ApiClass::kCopyBlocking:
    case ApiClass::kDeviceSync:
    case ApiClass::kStreamSync:
    case ApiClass::kEventSync:
    case ApiClass::kDeviceAllocate:
    case ApiClass::kDeviceFree:
    case ApiClass::kHostAllocate:
    case ApiClass::kHostFree:
    case ApiClass::kHostRegister:
    case ApiClass::kHostUnregister:
    case ApiClass::kVirtualMemory:
    case ApiClass::kModuleLoad:
    case ApiClass::kModuleUnload:
      return true;
    default:
      return false;
  }
}

const char* ApiClassName(ApiClass api_class) {
  const auto index = static_cast<size_t>(api_class);
  return index < std::size(kClassNames) ? kClassNames[index] : "invalid";
}

}  // namespace stallhound::capture
