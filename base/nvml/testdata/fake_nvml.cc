// A libnvidia-ml of one GPU, for tests. With FAKE_NVML_OLD it is of an old driver: first versions of functions only,
// and few of them. FAKE_NVML_INIT in the environment is what nvmlInit returns.

#include <cstdio>
#include <cstdlib>
#include <cstring>

extern "C" {

static int InitResult() {
  const char* result = getenv("FAKE_NVML_INIT");
  return result != nullptr ? atoi(result) : 0;
}

const char* nvmlErrorString(int result) { return result == 9 ? "Driver Not Loaded" : "Unknown Error"; }
int nvmlShutdown() { return 0; }
int nvmlSystemGetDriverVersion(char* version, unsigned length) {
  snprintf(version, length, "580.65.06");
  return 0;
}
int nvmlDeviceGetName(void*, char* name, unsigned length) {
  snprintf(name, length, "NVIDIA Fake H200");
  return 0;
}

#ifdef FAKE_NVML_OLD

int nvmlInit() { return InitResult(); }
int nvmlDeviceGetCount(unsigned* count) {
  *count = 1;
  return 0;
}
int nvmlDeviceGetHandleByIndex(unsigned index, void** device) {
  *device = reinterpret_cast<void*>(1);
  return index == 0 ? 0 : 2;
}

#else

int nvmlInit_v2() { return InitResult(); }
int nvmlSystemGetCudaDriverVersion_v2(int* version) {
  *version = 13000;
  return 0;
}
int nvmlSystemGetConfComputeState(unsigned* state) {
  state[0] = 2;
  state[1] = 1;
  state[2] = 0;
  return 0;
}
int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = 1;
  return 0;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
  *device = reinterpret_cast<void*>(1);
  return index == 0 ? 0 : 2;
}
int nvmlDeviceGetMemoryInfo(void*, unsigned long long* memory) {
  memory[0] = 150754820096ull;
  memory[1] = memory[2] = 0;
  return 0;
}
int nvmlDeviceGetCudaComputeCapability(void*, int* major, int* minor) {
  *major = 9;
  *minor = 0;
  return 0;
}
int nvmlDeviceGetNumGpuCores(void*, unsigned* cores) {
  *cores = 16896;
  return 0;
}
int nvmlDeviceGetClockInfo(void*, int type, unsigned* mhz) {
  *mhz = type == 1 ? 345 : 3201;
  return 0;
}
int nvmlDeviceGetMaxClockInfo(void*, int type, unsigned* mhz) {
  *mhz = type == 1 ? 1980 : 3201;
  return 0;
}
int nvmlDeviceGetEnforcedPowerLimit(void*, unsigned* milliwatts) {
  *milliwatts = 700000;
  return 0;
}
int nvmlDeviceGetPowerManagementDefaultLimit(void*, unsigned*) { return 3; }  // not supported
int nvmlDeviceGetCurrentClocksThrottleReasons(void*, unsigned long long* reasons) {
  *reasons = 1 | 4;
  return 0;
}
int nvmlDeviceGetEccMode(void*, unsigned* current, unsigned* pending) {
  *current = 1;
  *pending = 0;
  return 0;
}
int nvmlDeviceGetMigMode(void*, unsigned* current, unsigned* pending) {
  *current = 0;
  *pending = 1;
  return 0;
}
int nvmlDeviceGetPersistenceMode(void*, unsigned* mode) {
  *mode = 1;
  return 0;
}
int nvmlDeviceGetVirtualizationMode(void*, int* mode) {
  *mode = 1;
  return 0;
}

#endif
}
