#include "analysis/hunt/budget.h"

#include <absl/strings/match.h>
#include <absl/strings/strip.h>
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

namespace stallhound::analysis {
namespace {

using SiteKey = std::tuple<SiteKind, std::string>;

// Equal for a site of a hunt and the same site of its counts.
template <typename AnySite>
SiteKey KeyOf(const AnySite& site) {
  if (site.innermost_user) {
    const Frame& frame = *site.innermost_user;
    return {site.kind, fmt::format("{}:{}", frame.file.value_or(""), frame.line.value_or(0))};
  }
  if (site.forward) return {site.kind, ForwardKey(*site.forward)};
  return {site.kind, site.native_symbol.value_or(site.apis.empty() ? "" : site.apis.front())};
}

// The user's line of a site: of a backward that of its operator.
const Frame* LineOf(const Site& site) {
  if (site.innermost_user) return &*site.innermost_user;
  return site.forward ? &site.forward->frame : nullptr;
}

bool IsInOperator(const Frame& frame, std::string_view name) {
  if (!frame.function) return false;
  for (const char* scope : {"at::_ops::", "at::native::"}) {
    std::string_view rest = *frame.function;
    const size_t at = rest.find(scope);
    if (at == std::string_view::npos) continue;
    rest.remove_prefix(at + std::string_view(scope).size());
    if (rest.substr(0, name.size()) != name) continue;
    rest.remove_prefix(name.size());
    if (rest.empty() || rest.front() == ':' || rest.front() == '(') return true;
  }
  return false;
}

// Of a site with several operators it would allow the others, too.
bool IsInOperatorRange(const Site& site, absl::string_view name) {
  const bool is_one = site.operator_count == 1 && site.operator_confidence == Confidence::kExact;
  return is_one &&
         std::any_of(site.operator_stack.begin(), site.operator_stack.end(),
                     [&](const std::string& enclosing) { return absl::StripPrefix(enclosing, "aten::") == name; });
}

std::optional<SiteKind> KindOf(BudgetQuantity quantity) {
  switch (quantity) {
    case BudgetQuantity::kWaits:
      return SiteKind::kWait;
    case BudgetQuantity::kPageableCopies:
      return SiteKind::kPageableCopy;
    case BudgetQuantity::kAllocatorCalls:
      return SiteKind::kAllocator;
    case BudgetQuantity::kLoaderCalls:
      return SiteKind::kLoader;
    default:
      return std::nullopt;
  }
}

bool Counts(BudgetQuantity quantity, SiteKind kind) {
  if (quantity == BudgetQuantity::kSyncPoints) return IsSyncPoint(kind);
  return KindOf(quantity) == kind;
}

double EventsOf(BudgetQuantity quantity, const SiteEvents& events) {
  if (quantity == BudgetQuantity::kCopies) return static_cast<double>(events.copy_count);
  if (quantity == BudgetQuantity::kBytes) return static_cast<double>(events.copy_bytes);
  if (quantity == BudgetQuantity::kAllocations) return static_cast<double>(events.allocate_count);
  return 0;
}

// All of the quantity in one occurrence, the allowed too; null: not recorded.
std::optional<double> TotalOf(BudgetQuantity quantity, const EventCounts& counts) {
  double total = 0;
  if (quantity == BudgetQuantity::kCopies || quantity == BudgetQuantity::kBytes) {
    if (!counts.copies) return std::nullopt;
    for (const CopySummary& copy : *counts.copies) {
      total += quantity == BudgetQuantity::kCopies ? static_cast<double>(copy.count) : static_cast<double>(copy.bytes);
    }
    return total;
  }
  if (quantity == BudgetQuantity::kAllocations) {
    if (!counts.device_allocate_count || !counts.host_allocate_count) return std::nullopt;
    return static_cast<double>(*counts.device_allocate_count + *counts.host_allocate_count);
  }
  if (!counts.sync_points) return std::nullopt;
  for (int i = 0; i < kSiteKindCount; ++i) {
    const auto kind = static_cast<SiteKind>(i);
    if (!Counts(quantity, kind)) continue;
    const std::optional<int64_t> count = counts.SyncPoints(kind);
    if (!count) return std::nullopt;
    total += static_cast<double>(*count);
  }
  return total;
}

bool IsOf(const LossSummary& loss, capture::LossCounter counter) { return loss.id == capture::Info(counter).id; }

// Some events lack their size; without a detail, which our own recorder does not give, it may be that of a copy.
bool LacksBytes(const std::vector<LossSummary>& losses) {
  return std::any_of(losses.begin(), losses.end(), [](const LossSummary& loss) {
    return IsOf(loss, capture::LossCounter::kMissingField) &&
           (!loss.detail || loss.detail->find("bytes") != std::string::npos);
  });
}

bool HidesGraphs(const std::vector<LossSummary>& losses) {
  return std::any_of(losses.begin(), losses.end(),
                     [](const LossSummary& loss) { return IsOf(loss, capture::LossCounter::kGraphLevelOnly); });
}

// One limit on one range.
class Judge {
 public:
  Judge(const BudgetLimit& limit, const MeasuredRange& range, const std::set<SiteKey>& allowed)
      : range_(range), allowed_(allowed) {
    finding_.quantity = limit.quantity;
    finding_.range = limit.range;
    finding_.limit = limit.limit;
    finding_.occurrence_count = static_cast<int64_t>(range.counts->spans.size());
  }

  BudgetFinding Finish() {
    const bool is_ratio = finding_.quantity == BudgetQuantity::kRecoverableRatio;
    is_ratio ? JudgeRatio() : JudgeCounts();
    if (finding_.exceeded_count > 0) {
      finding_.outcome = BudgetOutcome::kExceeded;
      finding_.reason.clear();
      AddSites();
    } else if (finding_.reason.empty()) {
      finding_.outcome = BudgetOutcome::kFine;
    }
    return std::move(finding_);
  }

 private:
  bool IsLeft(const Site& site) const { return !allowed_.contains(KeyOf(site)); }

  std::optional<double> FoundIn(const CountsSpan& span) const {
    const BudgetQuantity quantity = finding_.quantity;
    std::optional<double> found = TotalOf(quantity, span.counts);
    if (!found) return std::nullopt;
    for (size_t i = 0; i < range_.counts->sites.size(); ++i) {
      const CountsSite& site = range_.counts->sites[i];
      if (!allowed_.contains(KeyOf(site))) continue;
      if (Counts(quantity, site.kind)) *found -= static_cast<double>(span.site_counts[i]);
      *found -= EventsOf(quantity, span.site_events[i]);
    }
    return std::max(*found, 0.0);
  }

  void JudgeCounts() {
    finding_.reason = DoubtOfCounts();
    for (const CountsSpan& span : range_.counts->spans) {
      const std::optional<double> found = FoundIn(span);
      if (!found) {
        finding_.reason = "the recording does not hold what it counts";
        continue;
      }
      finding_.found = std::max(finding_.found.value_or(0), *found);
      finding_.exceeded_count += *found > finding_.limit ? 1 : 0;
    }
    if (range_.counts->spans.empty()) finding_.reason = "nothing was measured";
  }

  // Why there may be more than was counted.
  std::string DoubtOfCounts() const {
    const BudgetQuantity quantity = finding_.quantity;
    const bool is_of_copies = quantity == BudgetQuantity::kCopies || quantity == BudgetQuantity::kBytes;
    if (!range_.counts->counts_complete || !range_.hunt->counts_complete) {
      return "data was lost: there may be more (see Losses)";
    }
    const int64_t unknown_count = range_.hunt->unknown_kind_copy_count;
    if (unknown_count > 0 && Counts(quantity, SiteKind::kPageableCopy)) {
      return fmt::format("{} asynchronous copies of unknown memory kind may be pageable", unknown_count);
    }
    if (quantity == BudgetQuantity::kBytes && LacksBytes(range_.counts->losses)) {
      return "not every copy says its bytes (see Losses)";
    }
    if (is_of_copies && HidesGraphs(range_.counts->losses)) {
      return "CUDA graphs ran, and the copies inside them were not recorded (see Losses)";
    }
    if (is_of_copies && range_.counts->unplaced_count > 0) {
      return fmt::format("{} GPU records have no known launch and lie in no occurrence", range_.counts->unplaced_count);
    }
    return "";
  }

  void JudgeRatio() {
    const HuntReport& hunt = *range_.hunt;
    if (!hunt.costs_complete || !hunt.counts_complete) {
      finding_.reason = "data was lost or not recorded: the costs may be wrong";
      return;
    }
    int64_t measured_ns = 0;
    for (const CountsSpan& span : range_.counts->spans) measured_ns += span.end_ns - span.start_ns;
    const std::optional<Bounds> recoverable = Recoverable();
    if (!recoverable || measured_ns <= 0) {
      finding_.reason = measured_ns <= 0 ? "nothing was measured" : "what can be recovered is unknown";
      return;
    }
    const double least = static_cast<double>(recoverable->least_ns) / static_cast<double>(measured_ns);
    const double most = static_cast<double>(recoverable->most_ns) / static_cast<double>(measured_ns);
    if (least > finding_.limit) {
      finding_.found = least;
      finding_.exceeded_count = 1;
    } else if (most <= finding_.limit) {
      finding_.found = most;
    } else {
      finding_.reason =
          fmt::format("what the allowances leave recovers between {:.4g}% and {:.4g}%", least * 100, most * 100);
    }
  }

  struct Bounds {
    int64_t least_ns = 0;
    int64_t most_ns = 0;
  };

  // Of the sites that are not allowed. Removing several is not the sum of removing each, so that only the bounds are
  // known of a part of them: the largest site or group, and all.
  std::optional<Bounds> Recoverable() const {
    const HuntReport& hunt = *range_.hunt;
    if (!hunt.device_idle) return std::nullopt;
    const auto is_left = [&](const Site& site) { return IsLeft(site); };
    if (std::none_of(hunt.sites.begin(), hunt.sites.end(), is_left)) return Bounds();
    if (!hunt.recoverable_all_ns) return std::nullopt;
    Bounds bounds{0, *hunt.recoverable_all_ns};
    if (std::all_of(hunt.sites.begin(), hunt.sites.end(), is_left)) return Bounds{bounds.most_ns, bounds.most_ns};
    for (const Site& site : hunt.sites) {
      if (is_left(site)) bounds.least_ns = std::max(bounds.least_ns, site.recoverable_ns.value_or(0));
    }
    for (const SiteGroup& group : hunt.groups) {
      const bool is_whole =
          std::all_of(group.sites.begin(), group.sites.end(), [&](size_t site) { return is_left(hunt.sites[site]); });
      if (is_whole) bounds.least_ns = std::max(bounds.least_ns, group.recoverable_ns);
    }
    return bounds;
  }

  bool IsInExcess(const Site& site) const {
    switch (finding_.quantity) {
      case BudgetQuantity::kCopies:
      case BudgetQuantity::kBytes:
        return !site.copies.empty();
      case BudgetQuantity::kAllocations:
        return site.kind == SiteKind::kAllocator;
      case BudgetQuantity::kRecoverableRatio:
        return site.recoverable_ns.value_or(0) > 0 || !site.recoverable_ns;
      default:
        return Counts(finding_.quantity, site.kind);
    }
  }

  void AddSites() {
    for (const Site& site : range_.hunt->sites) {
      if (!IsLeft(site) || !IsInExcess(site)) continue;
      finding_.sites.push_back({site.kind, site.apis, site.innermost_user, site.native_symbol, site.forward, site.count,
                                site.recoverable_ns, site.operator_name});
    }
    if (finding_.quantity == BudgetQuantity::kRecoverableRatio) return;  // a hunt's sites are in order of cost
    std::stable_sort(finding_.sites.begin(), finding_.sites.end(),
                     [](const BudgetSite& a, const BudgetSite& b) { return a.count > b.count; });
  }

  const MeasuredRange& range_;
  const std::set<SiteKey>& allowed_;
  BudgetFinding finding_;
};

std::set<SiteKey> AllowedSites(const Budget& budget, const MeasuredRange& range, absl::CivilDay today,
                               std::set<const Allowance*>& used) {
  std::set<SiteKey> allowed;
  for (const Allowance& allowance : budget.allowances) {
    for (const Site& site : range.hunt->sites) {
      if (!IsAllowed(allowance, site)) continue;
      used.insert(&allowance);
      if (today <= allowance.expires) allowed.insert(KeyOf(site));
    }
  }
  return allowed;
}

std::vector<std::string> NotesOf(const Budget& budget, absl::CivilDay today, const std::set<const Allowance*>& used) {
  std::vector<std::string> notes;
  for (const Allowance& allowance : budget.allowances) {
    if (today > allowance.expires) {
      notes.push_back(fmt::format("the allowance of {} expired on {} and allows nothing any more ({})", allowance.what,
                                  absl::FormatCivilTime(allowance.expires), allowance.reason));
    } else if (!used.contains(&allowance)) {
      notes.push_back(fmt::format("the allowance of {} fits no site of this recording", allowance.what));
    }
  }
  return notes;
}

}  // namespace

bool IsAllowed(const Allowance& allowance, const Site& site) {
  switch (allowance.by) {
    case AllowanceBy::kSite: {
      const Frame* line = LineOf(site);
      if (line == nullptr || !line->file || !line->line) return false;
      const std::string place = fmt::format("{}:{}", *line->file, *line->line);
      return place == allowance.what || absl::EndsWith(place, "/" + allowance.what);
    }
    case AllowanceBy::kFunction:
      if (const Frame* line = LineOf(site)) return line->function == allowance.what;
      return site.native_symbol == allowance.what;
    case AllowanceBy::kOperator: {
      const absl::string_view name = absl::StripPrefix(allowance.what, "aten::");
      if (IsInOperatorRange(site, name)) return true;
      return std::any_of(site.stack.begin(), site.stack.end(), [&](const Frame& frame) {
        return IsInOperator(frame, std::string_view(name.data(), name.size()));
      });
    }
  }
  return false;
}

BudgetVerdict JudgeBudget(const Budget& budget, const std::vector<MeasuredRange>& ranges, absl::CivilDay today) {
  BudgetVerdict verdict;
  std::set<const Allowance*> used;
  for (const BudgetLimit& limit : budget.limits) {
    const auto range = std::find_if(ranges.begin(), ranges.end(),
                                    [&](const MeasuredRange& measured) { return measured.range == limit.range; });
    if (range == ranges.end()) {
      verdict.findings.push_back({.quantity = limit.quantity,
                                  .range = limit.range,
                                  .limit = limit.limit,
                                  .reason = "its range was not measured"});
      continue;
    }
    verdict.findings.push_back(Judge(limit, *range, AllowedSites(budget, *range, today, used)).Finish());
  }
  for (const BudgetFinding& finding : verdict.findings) {
    if (finding.outcome == BudgetOutcome::kExceeded) verdict.outcome = BudgetOutcome::kExceeded;
    if (finding.outcome == BudgetOutcome::kInconclusive && verdict.outcome == BudgetOutcome::kFine) {
      verdict.outcome = BudgetOutcome::kInconclusive;
    }
  }
  verdict.notes = NotesOf(budget, today, used);
  return verdict;
}

}  // namespace stallhound::analysis
