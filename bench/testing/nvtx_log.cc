// An NVTX tool that writes each range's begin and end to the file $NVTX_LOG: "push TEXT", "pop", in the order of the
// calls.
#define NVTX_NO_IMPL
#include <nvtx3/nvToolsExt.h>

#include <cstdio>
#include <cstdlib>
#include <mutex>

namespace {

std::mutex mutex;
FILE* log_file = nullptr;

int Push(const char* text) {
  const std::lock_guard lock(mutex);
  std::fprintf(log_file, "push %s\n", text);
  return 0;
}

int Pop() {
  const std::lock_guard lock(mutex);
  std::fprintf(log_file, "pop\n");
  return 0;
}

nvtxDomainHandle_t CreateDomain(const char*) { return reinterpret_cast<nvtxDomainHandle_t>(1); }

template <typename Function>
void Set(const NvtxExportTableCallbacks& exports, NvtxCallbackModule module, unsigned id, Function function) {
  NvtxFunctionTable table = nullptr;
  unsigned count = 0;
  if (exports.GetModuleFunctionTable(module, &table, &count) == 0 || id >= count || table[id] == nullptr) std::abort();
  *table[id] = reinterpret_cast<NvtxFunctionPointer>(function);
}

}  // namespace

extern "C" int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table) {
  const auto* exports = static_cast<const NvtxExportTableCallbacks*>(get_table(NVTX_ETID_CALLBACKS));
  // The bench and libraries of LibTorch initialise NVTX one by one.
  const std::lock_guard lock(mutex);
  if (log_file == nullptr) log_file = std::fopen(std::getenv("NVTX_LOG"), "w");
  if (exports == nullptr || log_file == nullptr) std::abort();
  std::setvbuf(log_file, nullptr, _IOLBF, BUFSIZ);
  Set(*exports, NVTX_CB_MODULE_CORE, NVTX_CBID_CORE_RangePushA, Push);
  Set(*exports, NVTX_CB_MODULE_CORE, NVTX_CBID_CORE_RangePop, Pop);
  Set(*exports, NVTX_CB_MODULE_CORE2, NVTX_CBID_CORE2_DomainCreateA, CreateDomain);
  return 1;
}
