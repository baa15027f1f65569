#include "analysis/hunt/sites.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "analysis/hunt/operator_name.h"

namespace stallhound::analysis {
namespace {

void AddTo(std::optional<int64_t>& sum, std::optional<int64_t> value) {
  if (value.has_value()) sum = sum.value_or(0) + *value;
}

// Keys with the largest count first.
template <typename Key>
std::vector<Key> ByCount(const std::map<Key, int64_t>& counts) {
  std::vector<std::pair<int64_t, Key>> pairs;
  for (const auto& [key, count] : counts) pairs.emplace_back(-count, key);
  std::sort(pairs.begin(), pairs.end());
  std::vector<Key> keys;
  for (auto& [count, key] : pairs) keys.push_back(std::move(key));
  return keys;
}

// CUDA's own libraries say nothing about who called them.
bool IsCudaLibrary(const Frame& frame) {
  if (!frame.module) return false;
  const std::string name = frame.module->substr(frame.module->rfind('/') + 1);
  return name.rfind("libcuda.so", 0) == 0 || name.rfind("libcudart", 0) == 0 || name.rfind("libcupti", 0) == 0;
}

using OperatorStack = std::vector<std::string_view>;

// The name of most of `total_count` points; null: more have none.
std::optional<std::string_view> MostFrequent(const std::map<std::string_view, int64_t>& counts, int64_t total_count) {
  if (counts.empty()) return std::nullopt;
  int64_t without_count = total_count;
  for (const auto& [name, count] : counts) without_count -= count;
  const std::string_view name = ByCount(counts).front();
  return counts.at(name) >= without_count ? std::optional(name) : std::nullopt;
}

// The innermost operator of most points, and its most frequent stack.
void SetOperators(const std::map<OperatorStack, int64_t>& stacks, bool is_exact, Site& site) {
  std::map<std::string_view, int64_t> innermost;
  for (const auto& [stack, count] : stacks) innermost[stack.front()] += count;
  site.operator_count = static_cast<int64_t>(innermost.size());
  const std::optional<std::string_view> name = MostFrequent(innermost, site.count);
  if (!name) return;
  for (const OperatorStack& stack : ByCount(stacks)) {
    if (stack.front() != *name) continue;
    site.operator_stack.assign(stack.begin(), stack.end());
    break;
  }
  site.operator_name = *name;
  site.operator_confidence = is_exact ? Confidence::kExact : Confidence::kInferred;
}

}  // namespace

Place FindPlace(const std::vector<Frame>& stack) {
  Place place;
  if (stack.empty()) return place;
  place.innermost = stack.front();
  for (const Frame& frame : stack) {
    const bool is_python = frame.kind == capture::FrameKind::kPython;
    if (frame.is_user && frame.line.has_value()) {
      if (!place.innermost_user) place.innermost_user = frame;
      place.outermost_user = frame;
    }
    if (!is_python && !place.native_symbol && frame.function && !IsCudaLibrary(frame)) {
      place.native_symbol = frame.function;
    }
  }
  if (place.innermost_user) {
    const Frame& user = *place.innermost_user;
    place.key = fmt::format("{}:{}", user.file.value_or(""), *user.line);
    place.confidence = Confidence::kExact;
  } else if (place.native_symbol) {
    place.key = *place.native_symbol;
    place.confidence = Confidence::kInferred;
  } else {
    const Frame& frame = *place.innermost;
    place.key = fmt::format("{}:{}:{}", frame.file.value_or(frame.module.value_or("")), frame.function.value_or(""),
                            frame.line.value_or(frame.module_offset.value_or(0)));
    place.confidence = frame.kind == capture::FrameKind::kPython ? Confidence::kInferred : Confidence::kNone;
  }
  return place;
}

void AddCost(Cost& cost, const PointCost& point) {
  AddTo(cost.unknown_count, point.is_unknown);
  const std::optional<Stall>& stall = point.stall;
  if (!stall.has_value()) return;
  AddTo(cost.stall_count, 1);
  AddTo(cost.blocked_ns, stall->blocked_ns);
  if (!stall->idle_ns.has_value()) {
    AddTo(cost.no_later_work_count, 1);
    return;
  }
  AddTo(cost.idle_ns, stall->idle_ns);
  AddTo(cost.idle_compute_ns, stall->idle_compute_ns);
  AddTo(cost.idle_blocked_ns, stall->idle_blocked_ns);
  AddTo(cost.idle_return_ns, stall->idle_return_ns);
  AddTo(cost.idle_host_ns, stall->idle_host_ns);
  AddTo(cost.idle_launch_ns, stall->idle_launch_ns);
}

void AddCopy(std::vector<CopySummary>& copies, const PointCopy& copy) {
  for (CopySummary& summary : copies) {
    if (summary.direction != copy.direction || summary.source_kind != copy.source_kind ||
        summary.target_kind != copy.target_kind) {
      continue;
    }
    ++summary.count;
    summary.bytes += copy.bytes;
    return;
  }
  copies.push_back({copy.direction, copy.source_kind, copy.target_kind, 1, copy.bytes});
}

const Place& SiteBuilder::PlaceOf(std::optional<uint32_t> stack_id) {
  if (!stack_id.has_value()) return no_place_;
  const auto [it, is_new] = places_.try_emplace(*stack_id);
  if (is_new) it->second = FindPlace(directory_.Stack(*stack_id));
  return it->second;
}

std::optional<Forward> SiteBuilder::ForwardOf(const SyncPoint& point, const Place& place) const {
  if (!point.forward || place.innermost_user) return std::nullopt;
  Forward forward;
  forward.stack = directory_.Stack(point.forward->stack_id);
  if (forward.stack.empty()) return std::nullopt;
  forward.frame = FindPlace(forward.stack).innermost_user.value_or(forward.stack.front());
  forward.node = strings_.Get(point.forward->node);
  forward.confidence = point.forward->is_exact ? Confidence::kExact : Confidence::kInferred;
  return forward;
}

// Stacks with one innermost line, together.
void SiteBuilder::AddLines(const Building& building, bool has_costs, Site& site) const {
  struct Line {
    SiteLine line;
    Cost cost;
  };
  std::map<std::string, Line> lines;
  for (const auto& [stack_id, count] : building.stacks) {
    const std::vector<Frame> stack = directory_.Stack(stack_id);
    if (stack.empty()) continue;
    const Frame& frame = stack.front();
    Line& line =
        lines[fmt::format("{}:{}:{}:{}", frame.file.value_or(frame.module.value_or("")), frame.line.value_or(0),
                          frame.function.value_or(""), frame.line ? 0 : frame.module_offset.value_or(0))];
    line.line.frame = frame;
    line.line.count += count;
    const auto cost = building.stack_costs.find(stack_id);
    if (cost == building.stack_costs.end()) continue;
    AddTo(line.cost.blocked_ns, cost->second.blocked_ns);
    AddTo(line.cost.idle_ns, cost->second.idle_ns);
    AddTo(line.cost.no_later_work_count, cost->second.no_later_work_count);
    AddTo(line.cost.unknown_count, cost->second.unknown_count);
  }
  for (auto& [key, line] : lines) {
    if (has_costs) {
      const Cost cost = CostOf(line.cost);
      line.line.blocked_ns = cost.blocked_ns;
      line.line.idle_ns = cost.idle_ns;
    }
    site.lines.push_back(std::move(line.line));
  }
  std::stable_sort(site.lines.begin(), site.lines.end(), [](const SiteLine& a, const SiteLine& b) {
    return std::tuple(a.idle_ns.value_or(0), a.blocked_ns.value_or(0), a.count) >
           std::tuple(b.idle_ns.value_or(0), b.blocked_ns.value_or(0), b.count);
  });
  site.line_count = static_cast<int64_t>(site.lines.size());
  if (site.lines.size() > kMostSiteLines) site.lines.resize(kMostSiteLines);
}

void SiteBuilder::AddEnclosing(const Enclosing& enclosing, std::optional<uint32_t> stack_id, Building& building) {
  if (!enclosing.range.empty()) ++building.ranges[enclosing.range];
  if (!enclosing.operators.empty()) {
    ++building.operators[enclosing.operators];
    ++building.in_operator_range_count;
  } else if (stack_id) {
    const auto [it, is_new] = symbol_operators_.try_emplace(*stack_id);
    if (is_new) it->second = OperatorsOfStack(directory_.Stack(*stack_id));
    if (!it->second.empty()) ++building.operators[OperatorStack(it->second.begin(), it->second.end())];
  }
}

size_t SiteBuilder::Add(const SyncPoint& point, const PointCost& cost, const Enclosing& enclosing) {
  const Place& place = PlaceOf(point.stack_id);
  // Without any place in code, the API names the site.
  const std::string api(point.api ? strings_.Get(*point.api) : "unknown call");
  std::optional<Forward> forward = ForwardOf(point, place);
  const std::string key = forward ? ForwardKey(*forward) : place.key.empty() ? api : place.key;
  const auto [it, is_new] = index_.try_emplace({point.kind, key}, sites_.size());
  if (is_new) {
    Site& site = sites_.emplace_back().site;
    site.kind = point.kind;
    site.forward = std::move(forward);
    site.innermost_user = place.innermost_user;
    site.outermost_user = place.outermost_user;
    site.innermost = place.innermost;
    site.native_symbol = place.native_symbol;
    site.confidence = place.confidence;
  }
  Building& building = sites_[it->second];
  Site& site = building.site;
  ++site.count;
  site.call_ns += point.end_ns - point.start_ns;
  ++building.apis[api];
  ++building.threads[point.thread_id];
  AddEnclosing(enclosing, point.stack_id, building);
  if (point.stack_id) {
    ++building.stacks[*point.stack_id];
    AddCost(building.stack_costs[*point.stack_id], cost);
  }
  AddCost(building.cost, cost);
  for (const PointCopy& copy : point.copies) {
    AddCopy(site.copies, copy);
    if (!copy.source_kind || !copy.target_kind) ++site.unknown_kind_copy_count;
  }
  return it->second;
}

std::vector<Site> SiteBuilder::Finish(bool has_costs, int64_t occurrence_count) {
  std::vector<Site> sites;
  for (Building& building : sites_) {
    Site& site = building.site;
    site.apis = ByCount(building.apis);
    for (const uint32_t thread : ByCount(building.threads)) site.threads.push_back(directory_.ThreadName(thread));
    const std::vector<uint32_t> stacks = ByCount(building.stacks);
    if (!stacks.empty()) site.stack = directory_.Stack(stacks.front());
    site.stack_count = static_cast<int64_t>(stacks.size());
    AddLines(building, has_costs, site);
    SetOperators(building.operators, building.in_operator_range_count == site.count, site);
    if (const auto range = MostFrequent(building.ranges, site.count)) site.range = *range;
    site.range_count = static_cast<int64_t>(building.ranges.size());
    site.count_per_occurrence =
        static_cast<double>(site.count) / static_cast<double>(std::max<int64_t>(occurrence_count, 1));
    if (has_costs) site.cost = CostOf(building.cost);
    if (site.unknown_kind_copy_count > 0 && site.confidence == Confidence::kExact)
      site.confidence = Confidence::kInferred;
    sites.push_back(std::move(site));
  }
  return sites;
}

Cost CostOf(Cost cost) {
  cost.no_later_work_count = cost.no_later_work_count.value_or(0);
  cost.unknown_count = cost.unknown_count.value_or(0);
  if (*cost.unknown_count > 0 && !cost.blocked_ns) return cost;
  const bool has_idle = *cost.no_later_work_count == 0 || cost.idle_ns.has_value();
  cost.stall_count = cost.stall_count.value_or(0);
  cost.blocked_ns = cost.blocked_ns.value_or(0);
  if (!has_idle) return cost;
  for (auto* part : {&cost.idle_ns, &cost.idle_compute_ns, &cost.idle_blocked_ns, &cost.idle_return_ns,
                     &cost.idle_host_ns, &cost.idle_launch_ns}) {
    *part = part->value_or(0);
  }
  return cost;
}

}  // namespace stallhound::analysis
