#include "bench/harness/marks.h"

#include <ATen/record_function.h>
#include <nvtx3/nvToolsExt.h>

namespace stallhound::bench {

Range::Range(const char* text) { nvtxRangePushA(text); }
Range::~Range() { nvtxRangePop(); }

bool IsToolAttached() {
  // NVTX answers with a null handle where nothing listens.
  static const bool is_attached = nvtxDomainCreateA("stallhound bench") != nullptr;
  return is_attached;
}

void MarkOperators() {
  if (!IsToolAttached()) return;
  at::addGlobalCallback(at::RecordFunctionCallback(
                            [](const at::RecordFunction& function) -> std::unique_ptr<at::ObserverContext> {
                              nvtxRangePushA(function.name());
                              return nullptr;
                            },
                            [](const at::RecordFunction&, at::ObserverContext*) { nvtxRangePop(); })
                            .scopes({at::RecordScope::FUNCTION, at::RecordScope::BACKWARD_FUNCTION}));
}

}  // namespace stallhound::bench
