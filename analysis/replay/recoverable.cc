#include "analysis/replay/recoverable.h"

#include <fmt/format.h>

#include <absl/functional/function_ref.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <map>
#include <numeric>
#include <system_error>
#include <thread>

#include "analysis/replay/replay.h"
#include "base/units.h"

namespace stallhound::analysis {
namespace {

constexpr int kMostGroupSites = 8;

// A site alone saves too little for its first-order estimate, and a group enough, by these shares of that.
constexpr double kAbsorbedRatio = 0.5;
constexpr double kGroupRatio = 0.5;

// What a group saves beyond its sites is worth a line from this share of the measured time on.
constexpr double kSmallestGroupRatio = 0.005;

// A replay that misses the recorded time by more says little.
constexpr double kWorstReplayRatio = 0.05;

constexpr size_t kMostThreads = 8;

// Calls `visit` with each of 0 .. count - 1 once, on several threads.
void ForEachInParallel(size_t count, absl::FunctionRef<void(size_t)> visit) {
  std::atomic<size_t> next = 0;
  const auto visit_rest = [&] {
    for (size_t i = next++; i < count; i = next++) visit(i);
  };
  std::vector<std::jthread> helpers;
  const size_t thread_count = std::min({count, kMostThreads, size_t{std::thread::hardware_concurrency()}});
  try {
    while (helpers.size() + 1 < thread_count) helpers.emplace_back(visit_rest);
  } catch (const std::system_error&) {
    // No more threads may be made: those that there are do the work.
  }
  visit_rest();
}

class Estimator {
 public:
  Estimator(const ReplayModel& model, const std::vector<int32_t>& site_of_point,
            const std::vector<int64_t>& first_order_ns, const RecoverableOptions& options)
      : model_(model), site_of_point_(site_of_point), first_order_ns_(first_order_ns), options_(options) {}

  Recoverable Run() {
    result_.sites.resize(first_order_ns_.size());
    Survey();
    whole_ = Replay(model_, {});
    result_.replayed_ns = std::accumulate(whole_.span_ns.begin(), whole_.span_ns.end(), int64_t{0});
    result_.recorded_ns = std::accumulate(whole_.recorded_span_ns.begin(), whole_.recorded_span_ns.end(), int64_t{0});
    if (model_.works.empty()) return std::move(result_);
    std::vector<size_t> order(first_order_ns_.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::erase_if(order, [this](size_t site) { return !is_followed_[site]; });
    if (!order.empty()) result_.all_ns = Saved(order);
    std::stable_sort(order.begin(), order.end(),
                     [this](size_t a, size_t b) { return first_order_ns_[a] > first_order_ns_[b]; });
    ForEachInParallel(order.size(), [&](size_t i) {
      RecoverableSite& site = result_.sites[order[i]];
      site.is_first_order = i >= options_.max_site_count;
      site.recoverable_ns = site.is_first_order ? first_order_ns_[order[i]] : Saved({order[i]});
    });
    order.resize(std::min(order.size(), options_.max_site_count));
    FindGroups(order);
    return std::move(result_);
  }

 private:
  // Which sites GPU work follows, and which site's wait a thread comes to next.
  void Survey() {
    is_followed_.resize(first_order_ns_.size());
    std::map<uint32_t, int64_t> last_submission_ns;  // by process
    for (const ReplayWork& work : model_.works) {
      if (work.thread == kNoThread) continue;
      int64_t& last_ns =
          last_submission_ns.try_emplace(model_.threads[work.thread].process_id, INT64_MIN).first->second;
      last_ns = std::max(last_ns, work.host_ns);
    }
    std::vector<int32_t> last_site(model_.threads.size(), -1);
    for (const ReplayMark& mark : model_.marks) {
      if (mark.kind != MarkKind::kWait || mark.point < 0) continue;
      const int32_t site = site_of_point_[static_cast<size_t>(mark.point)];
      if (site < 0) continue;
      const auto last = last_submission_ns.find(model_.threads[mark.thread].process_id);
      if (last != last_submission_ns.end() && last->second >= mark.end_ns)
        is_followed_[static_cast<size_t>(site)] = true;
      if (int32_t& before = last_site[mark.thread]; before != site) {
        if (before >= 0) ++next_counts_[static_cast<size_t>(before)][static_cast<size_t>(site)];
        before = site;
      }
    }
  }

  int64_t Saved(const std::vector<size_t>& sites) const {
    std::vector<char> is_removed_site(first_order_ns_.size());
    for (const size_t site : sites) is_removed_site[site] = 1;
    std::vector<char> is_removed(site_of_point_.size());
    for (size_t i = 0; i < site_of_point_.size(); ++i) {
      is_removed[i] = site_of_point_[i] >= 0 && is_removed_site[static_cast<size_t>(site_of_point_[i])] != 0;
    }
    const ReplayResult without = Replay(model_, is_removed);
    // Of the groups of threads that see one span, the one that gains most.
    std::map<uint32_t, int64_t> saved_ns;  // by unit
    for (size_t i = 0; i < model_.spans.size(); ++i) {
      int64_t& unit_ns = saved_ns.try_emplace(model_.spans[i].unit, INT64_MIN).first->second;
      unit_ns = std::max(unit_ns, whole_.span_ns[i] - without.span_ns[i]);
    }
    int64_t total_ns = 0;
    for (const auto& [unit, unit_ns] : saved_ns) total_ns += unit_ns;
    return std::max<int64_t>(total_ns, 0);
  }

  int64_t Alone(size_t site) const { return result_.sites[site].recoverable_ns.value_or(0); }

  // The site that most often follows, of those that are not in `group`.
  std::optional<size_t> Next(size_t site, const std::vector<size_t>& group) const {
    const auto counts = next_counts_.find(site);
    std::optional<size_t> next;
    if (counts == next_counts_.end()) return next;
    int64_t most_count = 0;
    for (const auto& [other, count] : counts->second) {
      if (count <= most_count || std::find(group.begin(), group.end(), other) != group.end()) continue;
      next = other;
      most_count = count;
    }
    return next;
  }

  // From each site that saves much less than its first-order estimate: takes the sites in that follow it, until the
  // group saves what it cannot alone.
  void FindGroups(const std::vector<size_t>& order) {
    const double smallest_ns = kSmallestGroupRatio * static_cast<double>(result_.replayed_ns);
    std::vector<bool> is_grouped(first_order_ns_.size());
    for (const size_t first : order) {
      const auto missing_ns = static_cast<double>(first_order_ns_[first] - Alone(first));
      if (is_grouped[first] || missing_ns < kAbsorbedRatio * static_cast<double>(first_order_ns_[first])) continue;
      std::vector<size_t> sites{first};
      int64_t alone_ns = Alone(first);
      while (sites.size() < kMostGroupSites && replay_count_ < options_.max_group_replays) {
        const std::optional<size_t> next = Next(sites.back(), sites);
        if (!next || is_grouped[*next] || !result_.sites[*next].recoverable_ns || result_.sites[*next].is_first_order)
          break;
        sites.push_back(*next);
        alone_ns += Alone(*next);
        ++replay_count_;
        const int64_t together_ns = Saved(sites);
        if (static_cast<double>(together_ns - alone_ns) < std::max(kGroupRatio * missing_ns, smallest_ns)) continue;
        for (const size_t site : sites) is_grouped[site] = true;
        result_.groups.push_back({sites, together_ns});
        break;
      }
    }
    std::stable_sort(result_.groups.begin(), result_.groups.end(),
                     [](const auto& a, const auto& b) { return a.recoverable_ns > b.recoverable_ns; });
  }

  const ReplayModel& model_;
  const std::vector<int32_t>& site_of_point_;
  const std::vector<int64_t>& first_order_ns_;
  const RecoverableOptions& options_;
  std::vector<bool> is_followed_;                            // by site
  std::map<size_t, std::map<size_t, int64_t>> next_counts_;  // by site
  size_t replay_count_ = 0;
  ReplayResult whole_;  // nothing removed
  Recoverable result_;
};

}  // namespace

Recoverable EstimateRecoverable(const ReplayModel& model, const std::vector<int32_t>& site_of_point,
                                const std::vector<int64_t>& first_order_ns, const RecoverableOptions& options) {
  return Estimator(model, site_of_point, first_order_ns, options).Run();
}

std::vector<std::string> ReplayNotes(const ReplayModel& model, const Recoverable& recoverable) {
  std::vector<std::string> notes;
  if (model.is_too_wide) notes.push_back("more threads or streams than a replay holds: recoverable times are unknown");
  if (model.cut_ns) {
    notes.push_back(fmt::format("more GPU work than a replay holds: recoverable times are those of the first {} works",
                                FormatCount(static_cast<int64_t>(model.works.size()))));
  }
  const auto difference_ns = static_cast<double>(recoverable.replayed_ns - recoverable.recorded_ns);
  const auto recorded_ns = static_cast<double>(recoverable.recorded_ns);
  if (std::abs(difference_ns) > kWorstReplayRatio * recorded_ns) {
    notes.push_back(fmt::format("the replay takes {} where the recording took {}: recoverable times are rough",
                                FormatDuration(recoverable.replayed_ns), FormatDuration(recoverable.recorded_ns)));
  }
  const auto first_order_count = std::count_if(recoverable.sites.begin(), recoverable.sites.end(),
                                               [](const RecoverableSite& site) { return site.is_first_order; });
  if (first_order_count > 0) {
    notes.push_back(fmt::format("{} sites were not replayed: their recoverable times are first-order estimates",
                                FormatCount(first_order_count)));
  }
  return notes;
}

}  // namespace stallhound::analysis
