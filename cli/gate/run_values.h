#pragma once

// What the history keeps of a case, as analysis/gate compares it. Pure functions, safe from any thread.

#include <absl/status/statusor.h>

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/gate/comparability.h"
#include "analysis/gate/counts.h"
#include "analysis/gate/difference.h"
#include "analysis/gate/times.h"
#include "store/run.h"

namespace stallhound::cli {

struct EnvironmentDifference {
  std::vector<analysis::gate::KeyDifference> counts;  // by name; none: counts are comparable
  std::vector<analysis::gate::KeyDifference> times;   // those of counts, and of what only times depend on
  std::vector<std::string> unknown;                   // neither side has recorded it: taken as equal
  std::vector<std::string> one_sided;                 // one side has not recorded it: taken as equal
};

// What a GPU itself is, is known without one (gpu_count is 0): "none". Between two runs without a GPU its unknown
// software is not listed as `unknown`.
EnvironmentDifference CompareEnvironments(const store::RunInfo& baseline, const store::RunInfo& candidate);

// What a compared count is of.
struct CountName {
  store::EventKind kind = store::EventKind::kKernel;
  bool is_bytes = false;
  std::optional<std::string> memory;  // of copies: "pageable to device"; null: of all
};

struct CaseCounts {
  analysis::gate::WindowCounts window;
  std::map<std::string, CountName> names;  // of each count of the window
};

// Counts of all APIs together: of each kind, of each pair of memory kinds, and their bytes. A kind without a row is
// unknown. Errors: InvalidArgument for a count below 0, or a minimum above its maximum.
absl::StatusOr<CaseCounts> CountsOf(const store::BenchmarkResult& result);

std::vector<analysis::gate::KernelCount> KernelsOf(const store::BenchmarkResult& result);

// Sync points by place; empty without an iteration count, since a site's is over the whole window.
std::vector<analysis::gate::SiteCount> SitesOf(const store::BenchmarkResult& result);

// The point of that metric; null: not measured.
const store::Point* FindPoint(const store::BenchmarkResult& result, std::string_view metric);

// Medians of time and SM clock of each round, in the order of rounds.
std::vector<analysis::gate::Round> RoundsOf(const store::Point& point);

}  // namespace stallhound::cli
