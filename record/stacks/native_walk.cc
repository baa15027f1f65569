#include "record/stacks/native_walk.h"

#include <link.h>
#include <unwind.h>

#include <atomic>
#include <cstring>

namespace stallhound::record {
namespace {

// Modules whose frames at the top of a stack say nothing about the program.
struct Range {
  std::atomic<uint64_t> begin{0};
  std::atomic<uint64_t> end{0};

  bool Contains(uint64_t address) const {
    return address >= begin.load(std::memory_order_relaxed) && address < end.load(std::memory_order_relaxed);
  }
  void Set(uint64_t low, uint64_t high) {
    begin.store(low, std::memory_order_relaxed);
    end.store(high, std::memory_order_relaxed);
  }
};

Range own_module;
Range cupti_module;

int FindModules(dl_phdr_info* info, size_t, void*) {
  uint64_t low = ~uint64_t{0};
  uint64_t high = 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    if (info->dlpi_phdr[i].p_type != PT_LOAD) continue;
    const uint64_t begin = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
    if (begin < low) low = begin;
    if (begin + info->dlpi_phdr[i].p_memsz > high) high = begin + info->dlpi_phdr[i].p_memsz;
  }
  const auto here = reinterpret_cast<uint64_t>(&FindModules);
  const bool is_executable = info->dlpi_name == nullptr || info->dlpi_name[0] == '\0';
  if (here >= low && here < high && !is_executable) own_module.Set(low, high);
  if (!is_executable && strstr(info->dlpi_name, "libcupti.so") != nullptr) cupti_module.Set(low, high);
  return 0;
}

struct Walk {
  uint64_t* addresses;
  int capacity;
  int count;
  bool is_truncated;
};

_Unwind_Reason_Code OnFrame(_Unwind_Context* context, void* argument) {
  auto& walk = *static_cast<Walk*>(argument);
  const auto address = static_cast<uint64_t>(_Unwind_GetIP(context));
  if (address == 0) return _URC_END_OF_STACK;
  if (walk.count == 0 && (own_module.Contains(address) || cupti_module.Contains(address))) return _URC_NO_REASON;
  if (walk.count == walk.capacity) {
    walk.is_truncated = true;
    return _URC_END_OF_STACK;
  }
  walk.addresses[walk.count++] = address;
  return _URC_NO_REASON;
}

}  // namespace

void PrimeNativeWalk() {
  dl_iterate_phdr(FindModules, nullptr);
  uint64_t addresses[1];
  bool is_truncated = false;
  WalkNativeFrames(addresses, 1, is_truncated);
}

unsigned long long CountMappedModules() {
  unsigned long long adds = 0;
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* result) {
        *static_cast<unsigned long long*>(result) = info->dlpi_adds;
        return 1;
      },
      &adds);
  return adds;
}

int WalkNativeFrames(uint64_t* addresses, int capacity, bool& is_truncated) {
  Walk walk{addresses, capacity, 0, false};
  _Unwind_Backtrace(OnFrame, &walk);
  is_truncated = walk.is_truncated;
  return walk.count;
}

}  // namespace stallhound::record
