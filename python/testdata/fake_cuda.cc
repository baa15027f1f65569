// A CUDA driver without a GPU, as far as the Python package calls one: cuInit loads the recorder as the real one does.
#include <dlfcn.h>
#include <stdlib.h>

namespace {

constexpr int kNotInitialised = 3;
bool g_is_initialised = false;
int g_pushed_count = 0;

}  // namespace

extern "C" {

int fake_waits = 0;  // of a pushed context

int cuInit(unsigned) {
  if (const char* error = getenv("FAKE_CUDA_ERROR")) return atoi(error);
  g_is_initialised = true;
  const char* path = getenv("CUDA_INJECTION64_PATH");
  void* library = path == nullptr ? nullptr : dlopen(path, RTLD_NOW);
  if (library != nullptr) reinterpret_cast<int (*)()>(dlsym(library, "InitializeInjection"))();
  return 0;
}

int cuDeviceGetCount(int* count) {
  *count = 2;
  return g_is_initialised ? 0 : kNotInitialised;
}

// The first device is in use.
int cuDevicePrimaryCtxGetState(int device, unsigned* flags, int* is_active) {
  *flags = 0;
  *is_active = device == 0;
  return 0;
}

int cuDevicePrimaryCtxRetain(void** context, int) {
  *context = &g_pushed_count;
  return 0;
}

int cuCtxPushCurrent_v2(void* context) {
  if (context == &g_pushed_count) ++g_pushed_count;
  return 0;
}

int cuCtxSynchronize() {
  if (g_pushed_count == 1) ++fake_waits;
  return 0;
}

int cuCtxPopCurrent_v2(void**) {
  --g_pushed_count;
  return 0;
}

int cuDevicePrimaryCtxRelease_v2(int) { return 0; }
}
