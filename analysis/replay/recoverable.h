#pragma once

// What removing the waits of a site would save, by replay.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/replay/model.h"

namespace stallhound::analysis {

struct RecoverableOptions {
  size_t max_site_count = 64;  // sites replayed one by one, largest first-order estimate first; the others keep it
  size_t max_group_replays = 64;
};

struct RecoverableSite {
  std::optional<int64_t> recoverable_ns;  // null: no GPU work follows any of its waits, or all lie behind the cut
  bool is_first_order = false;            // not replayed: the first-order estimate
};

// Sites that save together more than one by one: the next wait takes over what one of them waited for.
struct RecoverableGroup {
  std::vector<size_t> sites;
  int64_t recoverable_ns = 0;
};

struct Recoverable {
  std::vector<RecoverableSite> sites;
  std::optional<int64_t> all_ns;  // all sites removed at once; null: no GPU work follows any
  std::vector<RecoverableGroup> groups;
  int64_t replayed_ns = 0;  // time of the measured spans, as replayed with nothing removed,
  int64_t recorded_ns = 0;  // and as recorded
};

// `site_of_point`: site of each sync point, -1 for none. `first_order_ns` by site: min(blocked, idle) plus the rest of
// the calls. Cost: a replay for each site and group tried, bounded by `options`; single sites on up to 8 threads.
Recoverable EstimateRecoverable(const ReplayModel& model, const std::vector<int32_t>& site_of_point,
                                const std::vector<int64_t>& first_order_ns, const RecoverableOptions& options = {});

// Sentences on what the estimate leaves out, or does badly.
std::vector<std::string> ReplayNotes(const ReplayModel& model, const Recoverable& recoverable);

}  // namespace stallhound::analysis
