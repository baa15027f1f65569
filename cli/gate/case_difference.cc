#include "cli/gate/case_difference.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "analysis/gate/counts.h"
#include "cli/gate/run_values.h"

namespace stallhound::cli {
namespace {

using store::BenchmarkResult;
using store::EventKind;

// Whether the kernels or sites behind a count that is not 0 were kept.
bool HasDetails(const BenchmarkResult& result, EventKind kind) {
  if (kind == EventKind::kKernel) return !result.kernels.empty();
  return std::any_of(result.sync_sites.begin(), result.sync_sites.end(),
                     [&](const store::SyncSite& site) { return site.kind == kind; });
}

// Texts of the kinds whose kernels or sites are known; a kind that did not occur has none, and is.
std::set<std::string> KnownKinds(const BenchmarkResult& result) {
  const bool has_window = result.iteration_count.value_or(0) >= analysis::gate::kLeastIterationCount;
  if (!has_window || result.counts_complete == false) return {};
  std::map<EventKind, int64_t> most;
  for (const store::EventCount& row : result.event_counts) most[row.kind] += row.max_count;
  std::set<std::string> kinds;
  for (const auto& [kind, count] : most) {
    if (count == 0 || HasDetails(result, kind)) kinds.insert(std::string(store::Text(kind)));
  }
  return kinds;
}

}  // namespace

CaseDifference DifferenceOf(const BenchmarkResult& baseline, const BenchmarkResult& candidate) {
  const std::set<std::string> before = KnownKinds(baseline), after = KnownKinds(candidate);
  const auto is_known = [&](const std::string& kind) { return before.contains(kind) && after.contains(kind); };
  const auto known_sites = [&](const BenchmarkResult& result) {
    std::vector<analysis::gate::SiteCount> sites = SitesOf(result);
    std::erase_if(sites, [&](const analysis::gate::SiteCount& site) { return !is_known(site.kind); });
    return sites;
  };
  CaseDifference difference;
  difference.benchmark = candidate.name;
  if (is_known(std::string(store::Text(EventKind::kKernel)))) {
    difference.kernels = CompareKernels(KernelsOf(baseline), KernelsOf(candidate));
  }
  difference.sites = CompareSites(known_sites(baseline), known_sites(candidate));
  return difference;
}

}  // namespace stallhound::cli
