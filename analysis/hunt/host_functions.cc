#include "analysis/hunt/host_functions.h"

#include <fmt/format.h>

namespace stallhound::analysis {

absl::Status HostFunctions::On(const capture::HostCallBatch& batch) {
  for (size_t i = 0; i < batch.size; ++i) {
    if (batch.api_class[i] != capture::ApiClass::kHostFunction || batch.is_nested[i]) continue;
    if (batch.return_value[i].value_or(0) != 0 || !spans_.Find(batch.process_id[i], batch.start_ns[i])) continue;
    ++count_;
  }
  return absl::OkStatus();
}

std::string HostFunctions::Note() const {
  return fmt::format(
      "{} host function{} ran behind GPU work (cudaLaunchHostFunc): a thread that waits for one, as JAX does for its "
      "results (stallhound explain jax-read-back), calls nothing of CUDA, so such waits are not among the sites",
      count_, count_ == 1 ? "" : "s");
}

}  // namespace stallhound::analysis
