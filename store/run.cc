#include "store/run.h"

#include <algorithm>
#include <iterator>

namespace stallhound::store {
namespace {

constexpr std::string_view kRunStatusTexts[] = {"complete", "interrupted"};
constexpr std::string_view kBenchmarkOutcomeTexts[] = {"measured", "failed", "skipped"};
constexpr std::string_view kMetricKindTexts[] = {"time", "count", "bytes", "ratio"};
constexpr std::string_view kBetterTexts[] = {"lower", "higher"};
constexpr std::string_view kConfidenceTexts[] = {"exact", "inferred", "none"};
constexpr std::string_view kVerdictOutcomeTexts[] = {"pass", "regressed", "improved", "suspect", "inconclusive"};
constexpr std::string_view kEventKindTexts[] = {
    "kernel",       "graph-launch", "wait",           "pageable-copy",     "allocator",
    "loader",       "query-spin",   "host-to-device", "device-to-host",    "device-to-device",
    "host-to-host", "peer-to-peer", "memset",         "device-allocation", "host-allocation",
};

template <typename Enum, size_t count>
bool Find(const std::string_view (&texts)[count], std::string_view text, Enum& value) {
  const auto found = std::find(std::begin(texts), std::end(texts), text);
  if (found == std::end(texts)) return false;
  value = static_cast<Enum>(found - std::begin(texts));
  return true;
}

template <typename T>
void Sort(std::vector<T>& values) {
  std::sort(values.begin(), values.end(), [](const T& a, const T& b) { return a < b; });
}

}  // namespace

#define SH_ENUM_TEXTS(Enum)                                                                \
  std::string_view Text(Enum value) { return k##Enum##Texts[static_cast<size_t>(value)]; } \
  bool FromText(std::string_view text, Enum& value) { return Find(k##Enum##Texts, text, value); }

SH_ENUM_TEXTS(RunStatus)
SH_ENUM_TEXTS(BenchmarkOutcome)
SH_ENUM_TEXTS(MetricKind)
SH_ENUM_TEXTS(Better)
SH_ENUM_TEXTS(Confidence)
SH_ENUM_TEXTS(VerdictOutcome)
SH_ENUM_TEXTS(EventKind)
#undef SH_ENUM_TEXTS

void SortLists(RunRecord& run) {
  Sort(run.info.captures);
  for (BenchmarkResult& benchmark : run.benchmarks) {
    Sort(benchmark.points);
    Sort(benchmark.kernels);
    Sort(benchmark.event_counts);
    Sort(benchmark.sync_sites);
  }
  Sort(run.benchmarks);
}

}  // namespace stallhound::store
