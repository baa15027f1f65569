#include "cli/bench/declared_counts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace stallhound::cli {
namespace {

using store::EventKind;

struct Declaration {
  const char* counter;
  const char* what;
  std::vector<EventKind> kinds;  // that count for it together
};

const std::vector<Declaration>& Declarations() {
  static const auto* const declarations = new std::vector<Declaration>{
      {"expect_kernel_count", "kernels", {EventKind::kKernel}},
      {"expect_sync_count", "host waits", {EventKind::kWait, EventKind::kPageableCopy, EventKind::kAllocator}},
      {"expect_host_to_device_count", "host-to-device copies", {EventKind::kHostToDevice}},
      {"expect_device_to_host_count", "device-to-host copies", {EventKind::kDeviceToHost}},
      {"expect_memset_count", "memsets", {EventKind::kMemset}},
  };
  return *declarations;
}

}  // namespace

std::vector<std::string> DeclaredCountProblems(const BenchRow& row, const analysis::CaseCounts& counts) {
  std::vector<std::string> problems;
  if (!counts.counts_complete.value_or(false)) return problems;
  for (const Declaration& declaration : Declarations()) {
    const auto declared = row.counters.find(declaration.counter);
    if (declared == row.counters.end()) continue;
    bool is_recorded = false;
    int64_t least = 0, most = 0;
    for (const store::EventCount& event : counts.event_counts) {
      if (std::find(declaration.kinds.begin(), declaration.kinds.end(), event.kind) == declaration.kinds.end())
        continue;
      is_recorded = true;
      least += event.min_count;
      most += event.max_count;
    }
    const int64_t count = std::llround(declared->second);
    if (!is_recorded || (least <= count && count <= most)) continue;
    problems.push_back(fmt::format("{} declares {} {} an iteration, recorded were {}", row.id, count, declaration.what,
                                   least == most ? fmt::format("{}", least) : fmt::format("{} to {}", least, most)));
  }
  return problems;
}

}  // namespace stallhound::cli
