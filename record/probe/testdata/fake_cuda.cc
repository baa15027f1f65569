// A libcuda of one device, for tests. FAKE_CUDA in the environment: "crash" ends the process in cuInit, "hang" never
// returns, a number is what cuInit returns.

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

extern "C" {

int cuInit(unsigned) {
  const char* behaviour = getenv("FAKE_CUDA");
  if (behaviour == nullptr) return 0;
  if (strcmp(behaviour, "crash") == 0) abort();
  while (strcmp(behaviour, "hang") == 0) pause();
  return atoi(behaviour);
}
int cuGetErrorName(int result, const char** name) {
  *name = result == 100 ? "CUDA_ERROR_NO_DEVICE" : "CUDA_ERROR_UNKNOWN";
  return 0;
}
int cuDriverGetVersion(int* version) {
  *version = 13010;
  return 0;
}
int cuDeviceGetCount(int* count) {
  *count = 1;
  return 0;
}
int cuDeviceGet(int* device, int index) {
  *device = index;
  return 0;
}
int cuDeviceGetName(char* name, int length, int) {
  snprintf(name, static_cast<size_t>(length), "NVIDIA \"Fake\" H200");
  return 0;
}
int cuDeviceGetAttribute(int* value, int attribute, int) {
  *value = attribute == 75 ? 9 : 0;
  return 0;
}
}
