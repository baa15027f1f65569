#pragma once

// Sync points gathered into sites: one kind, one innermost user frame, else one native symbol.

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/hunt/directory.h"
#include "analysis/hunt/enclosing.h"
#include "analysis/hunt/stall.h"
#include "analysis/hunt/sync_points.h"

namespace stallhound::analysis {

// Where a stack points to.
struct Place {
  std::string key;  // equal for equal sites of one kind
  std::optional<Frame> innermost_user;
  std::optional<Frame> outermost_user;
  std::optional<Frame> innermost;
  std::optional<std::string> native_symbol;
  Confidence confidence = Confidence::kNone;
};
// `stack` innermost first.
Place FindPlace(const std::vector<Frame>& stack);

class SiteBuilder {
 public:
  SiteBuilder(const Directory& directory, const capture::StringTable& strings)
      : directory_(directory), strings_(strings) {}

  // Adds a point. Views in `enclosing` stay valid until Finish. Returns the index of its site.
  size_t Add(const SyncPoint& point, const PointCost& cost, const Enclosing& enclosing = {});
  // All sites; `has_costs` false: stalls were not recorded. Divides counts by `occurrence_count`. Not sorted.
  std::vector<Site> Finish(bool has_costs, int64_t occurrence_count);

 private:
  struct Building {
    Site site;
    Cost cost;
    std::map<std::string, int64_t> apis;
    std::map<uint32_t, int64_t> stacks;
    std::map<uint32_t, Cost> stack_costs;
    std::map<uint32_t, int64_t> threads;
    std::map<std::vector<std::string_view>, int64_t> operators;  // innermost first
    std::map<std::string_view, int64_t> ranges;
    int64_t in_operator_range_count = 0;
  };
  const Place& PlaceOf(std::optional<uint32_t> stack_id);
  std::optional<Forward> ForwardOf(const SyncPoint& point, const Place& place) const;
  void AddEnclosing(const Enclosing& enclosing, std::optional<uint32_t> stack_id, Building& building);
  void AddLines(const Building& building, bool has_costs, Site& site) const;

  const Directory& directory_;
  const capture::StringTable& strings_;
  std::map<uint32_t, Place> places_;
  std::map<uint32_t, std::vector<std::string>> symbol_operators_;  // by stack
  Place no_place_;
  std::map<std::pair<SiteKind, std::string>, size_t> index_;
  std::vector<Building> sites_;
};

void AddCost(Cost& cost, const PointCost& point);
// The sum as recorded: zero where no stall added to it, null where only stalls without later work, or only points of
// unknown cost did.
Cost CostOf(Cost cost);
// Adds a copy to its direction and kinds.
void AddCopy(std::vector<CopySummary>& copies, const PointCopy& copy);

}  // namespace stallhound::analysis
