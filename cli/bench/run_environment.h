#pragma once

// The machine and the software of a run: of the recording's fingerprint where it has one, else of the bench's context.

#include <map>
#include <string>

#include "analysis/cases/cases.h"
#include "cli/bench/bench_output.h"
#include "store/run.h"

namespace stallhound::cli {

// Facts by key, as a recording's fingerprint has them: "driver.version", "gpu.0.name", "library.torch".
using Fingerprint = std::map<std::string, std::string>;
Fingerprint FingerprintOf(const analysis::CasesReport& recorded);

// What the host says of itself, and the allow-listed switches that are set.
struct HostFacts {
  std::string cpu_model;  // empty: unknown
  int64_t cpu_count = 0;  // that this process may use
  std::string kernel;
  std::map<std::string, std::string> switches;
};
HostFacts ReadHostFacts();

// Fills what is known. A bench that measures on the CPU has found no GPU. Of several GPUs the one that the bench
// measured on, as CUDA names it; what GPUs of that name do not share is unknown. Of a MIG slice its size is.
void FillEnvironment(const Fingerprint& fingerprint, const std::map<std::string, std::string>& context,
                     const HostFacts& host, store::RunInfo& info);

}  // namespace stallhound::cli
