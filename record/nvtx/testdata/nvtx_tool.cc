// The library that NVTX_INJECTION64_PATH names in nvtx_injection_test: a recorder with a spool and NVTX, nothing else.

#include <atomic>
#include <cstdlib>

#include "capture/spool/writer.h"
#include "record/nvtx/nvtx_injection.h"

namespace {

stallhound::capture::spool::SpoolWriter& Writer() {
  static auto* writer = [] {
    auto* made = new stallhound::capture::spool::SpoolWriter;
    made->Configure({.directory = getenv("NVTX_TEST_SPOOL_DIR")});
    return made;
  }();
  return *writer;
}

std::atomic<int> injections{0};

}  // namespace

extern "C" {

int InitializeInjectionNvtx2(void* get_export_table) {
  static auto* recorder = new stallhound::record::NvtxRecorder(Writer());
  stallhound::record::SetNvtxRecorder(recorder);
  ++injections;
  return stallhound::record::InjectNvtx(get_export_table);
}

int InjectionCount() { return injections; }
const char* SpoolPath() { return Writer().path(); }
void CloseSpool() { Writer().Close(); }
}
