// NVTX for a Python test: ctypes needs a library, and NVTX is headers only.
#include <nvtx3/nvToolsExt.h>

extern "C" void push(const char* name) { nvtxRangePushA(name); }
extern "C" void pop() { nvtxRangePop(); }
