// CUDA driver API, found at run time, so that this builds without a toolkit: a kernel from PTX, waits of each kind.
#include <cuda.h>
#include <dlfcn.h>
#include <nvtx3/nvToolsExt.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

constexpr int kSteps = 20;
constexpr size_t kBytes = 4 << 20;

// Keeps one thread busy for `cycles` clock cycles, then stores the loop count.
constexpr char kPtx[] = R"(
.version 7.0
.target sm_70
.address_size 64
.visible .entry spin(.param .u64 result, .param .u64 cycles) {
  .reg .pred %p;
  .reg .u64 %start, %now, %limit, %address, %count;
  ld.param.u64 %address, [result];
  ld.param.u64 %limit, [cycles];
  cvta.to.global.u64 %address, %address;
  mov.u64 %count, 0;
  mov.u64 %start, %clock64;
again:
  add.u64 %count, %count, 1;
  mov.u64 %now, %clock64;
  sub.u64 %now, %now, %start;
  setp.lt.u64 %p, %now, %limit;
  @%p bra again;
  st.global.u64 [%address], %count;
  ret;
}
)";

void* Find(void* library, const char* name) {
  void* function = dlsym(library, name);
  if (function == nullptr) {
    std::fprintf(stderr, "libcuda.so.1 has no %s\n", name);
    std::exit(1);
  }
  return function;
}

// The entry points used below, under their versioned names.
struct Driver {
  void* library = dlopen("libcuda.so.1", RTLD_NOW);

  template <typename... Arguments>
  void Call(const char* name, Arguments... arguments) const {
    const auto function = reinterpret_cast<CUresult (*)(Arguments...)>(Find(library, name));
    const CUresult result = function(arguments...);
    if (result == CUDA_SUCCESS) return;
    std::fprintf(stderr, "%s: error %d\n", name, static_cast<int>(result));
    std::exit(1);
  }
};

struct Loop {
  const Driver& driver;
  CUfunction spin{};
  CUstream stream{};
  CUevent done{};
  CUdeviceptr values = 0;
  std::vector<char> pageable = std::vector<char>(kBytes);

  void Launch() {
    unsigned long long cycles = 100000;
    void* parameters[] = {&values, &cycles};
    driver.Call("cuLaunchKernel", spin, 1u, 1u, 1u, 1u, 1u, 1u, 0u, stream, static_cast<void**>(parameters),
                static_cast<void**>(nullptr));
  }

  void Step() {
    Launch();
    driver.Call("cuStreamSynchronize", stream);
    Launch();
    driver.Call("cuEventRecord", done, stream);
    driver.Call("cuEventSynchronize", done);
    Launch();
    driver.Call("cuCtxSynchronize");
    Launch();
    driver.Call("cuMemcpyDtoHAsync_v2", static_cast<void*>(pageable.data()), values, kBytes, stream);
    Launch();
    driver.Call("cuMemcpyDtoH_v2", static_cast<void*>(pageable.data()), values, sizeof(unsigned long long));
  }
};

}  // namespace

int main() {
  const Driver driver;
  if (driver.library == nullptr) {
    std::fprintf(stderr, "driver_syncs: no CUDA driver on this machine\n");
    return 1;
  }
  CUdevice device = 0;
  CUcontext context{};
  CUmodule module{};
  Loop loop{driver};
  driver.Call("cuInit", 0u);
  driver.Call("cuDeviceGet", &device, 0);
  driver.Call("cuDevicePrimaryCtxRetain", &context, device);
  driver.Call("cuCtxSetCurrent", context);
  driver.Call("cuModuleLoadData", &module, static_cast<const void*>(kPtx));
  driver.Call("cuModuleGetFunction", &loop.spin, module, static_cast<const char*>("spin"));
  driver.Call("cuStreamCreate", &loop.stream, static_cast<unsigned>(CU_STREAM_NON_BLOCKING));
  driver.Call("cuEventCreate", &loop.done, static_cast<unsigned>(CU_EVENT_DEFAULT));
  driver.Call("cuMemAlloc_v2", &loop.values, kBytes);

  nvtxRangePushA("measured");
  for (int i = 0; i < kSteps; ++i) loop.Step();
  nvtxRangePop();
  driver.Call("cuMemFree_v2", loop.values);
  driver.Call("cuModuleUnload", module);
  std::printf("driver_syncs: %d steps\n", kSteps);
  return 0;
}
