#include "cli/gate/run_values.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/stats/samples.h"
#include "base/status_macros.h"
#include "store/comparability.h"

namespace stallhound::cli {
namespace {

using analysis::gate::ComparabilityKey;
using analysis::gate::CountRange;
using analysis::gate::KeyDifference;
using store::EventCount;
using store::EventKind;

// Of counts, or of counts and times.
std::vector<KeyDifference> Differences(const store::RunInfo& baseline, const store::RunInfo& candidate,
                                       bool is_of_times) {
  ComparabilityKey keys[2];
  const store::RunInfo* infos[] = {&baseline, &candidate};
  for (int side = 0; side < 2; ++side) {
    for (store::ComparableField& field : store::ComparableFields(infos[side]->hardware, infos[side]->environment)) {
      if (field.is_of_times_only && !is_of_times) continue;
      // A switch that is not set is known not to be.
      if (field.is_switch) keys[1 - side].emplace(field.name, "not set");
      keys[side][field.name] = std::move(field.value);
    }
  }
  return analysis::gate::CompareKeys(keys[0], keys[1]);
}

bool IsGpuSoftware(std::string_view field) {
  constexpr std::string_view kFields[] = {"driver", "cuda_runtime", "cudnn", "cublas"};
  return std::find(std::begin(kFields), std::end(kFields), field) != std::end(kFields);
}

bool IsCopy(EventKind kind) {
  switch (kind) {
    case EventKind::kHostToDevice:
    case EventKind::kDeviceToHost:
    case EventKind::kDeviceToDevice:
    case EventKind::kHostToHost:
    case EventKind::kPeerToPeer:
      return true;
    default:
      return false;
  }
}

bool IsSyncPoint(EventKind kind) {
  switch (kind) {
    case EventKind::kWait:
    case EventKind::kPageableCopy:
    case EventKind::kAllocator:
    case EventKind::kLoader:
      return true;
    default:
      return false;
  }
}

absl::Status Check(const store::BenchmarkResult& result, const EventCount& row) {
  const bool has_bad_bytes = row.min_bytes.value_or(0) < 0 || row.max_bytes.value_or(0) < row.min_bytes.value_or(0);
  if (row.min_count >= 0 && row.max_count >= row.min_count && !has_bad_bytes) return absl::OkStatus();
  return absl::InvalidArgumentError(fmt::format("judging '{}': its count of {} is {} to {}, its bytes {} to {}",
                                                result.name, store::Text(row.kind), row.min_count, row.max_count,
                                                row.min_bytes.value_or(0), row.max_bytes.value_or(0)));
}

// Counts of one kind, family by family: a family is there whole or not at all.
class KindCounts {
 public:
  KindCounts(EventKind kind, CaseCounts& counts) : kind_(kind), counts_(counts) {}

  void Add(const std::vector<const EventCount*>& rows) {
    const bool knows_memory = std::all_of(rows.begin(), rows.end(), [](const EventCount* row) {
      return row->max_count == 0 || (row->source_memory && row->target_memory);
    });
    const bool knows_bytes = std::all_of(rows.begin(), rows.end(), [](const EventCount* row) {
      return row->max_count == 0 || (row->min_bytes && row->max_bytes);
    });
    AddFamily(rows, false, IsCopy(kind_) && knows_memory);
    const bool moves_bytes = IsCopy(kind_) || kind_ == EventKind::kMemset;
    if (moves_bytes && knows_bytes) AddFamily(rows, true, IsCopy(kind_) && knows_memory);
  }

 private:
  void AddFamily(const std::vector<const EventCount*>& rows, bool is_bytes, bool by_memory) {
    std::map<std::string, CountRange> of_memory;
    CountRange total;
    for (const EventCount* row : rows) {
      const CountRange range = is_bytes ? CountRange{row->min_bytes.value_or(0), row->max_bytes.value_or(0)}
                                        : CountRange{row->min_count, row->max_count};
      total = {total.min + range.min, total.max + range.max};
      if (!by_memory || !row->source_memory || !row->target_memory) continue;
      CountRange& sum = of_memory[fmt::format("{} to {}", *row->source_memory, *row->target_memory)];
      sum = {sum.min + range.min, sum.max + range.max};
    }
    const std::string family = fmt::format("{}{}", store::Text(kind_), is_bytes ? " bytes" : "");
    AddCount(family, {kind_, is_bytes, std::nullopt}, total);
    counts_.window.recorded_families.push_back(family);
    if (!by_memory) return;
    for (const auto& [memory, range] : of_memory) {
      AddCount(fmt::format("{} memory:{}", family, memory), {kind_, is_bytes, memory}, range);
    }
    counts_.window.recorded_families.push_back(family + " memory");
  }

  void AddCount(const std::string& name, CountName what, CountRange range) {
    counts_.window.counts.push_back({name, range});
    counts_.names.emplace(name, std::move(what));
  }

  EventKind kind_;
  CaseCounts& counts_;
};

}  // namespace

EnvironmentDifference CompareEnvironments(const store::RunInfo& baseline, const store::RunInfo& candidate) {
  EnvironmentDifference difference;
  const bool has_gpu = baseline.hardware.gpu_count != 0 || candidate.hardware.gpu_count != 0;
  const auto drop_unknown = [&](std::vector<KeyDifference>& differences, bool is_told) {
    std::erase_if(differences, [&](const KeyDifference& key) {
      if (key.baseline && key.candidate) return false;
      const bool is_one_sided = key.baseline || key.candidate;
      if (is_told && is_one_sided) difference.one_sided.push_back(key.name);
      if (is_told && !is_one_sided && (has_gpu || !IsGpuSoftware(key.name))) difference.unknown.push_back(key.name);
      return true;
    });
  };
  difference.counts = Differences(baseline, candidate, false);
  difference.times = Differences(baseline, candidate, true);
  drop_unknown(difference.counts, false);
  drop_unknown(difference.times, true);
  return difference;
}

absl::StatusOr<CaseCounts> CountsOf(const store::BenchmarkResult& result) {
  CaseCounts counts;
  counts.window.iteration_count = result.iteration_count.value_or(0);
  if (result.iteration_count == 0) {
    counts.window.problem = analysis::gate::Reason::kNoSteadyIterations;
  } else if (result.iteration_count && *result.iteration_count < analysis::gate::kLeastIterationCount) {
    counts.window.problem = analysis::gate::Reason::kWindowTooShort;
  }
  std::map<EventKind, std::vector<const EventCount*>> by_kind;
  for (const EventCount& row : result.event_counts) {
    SH_RETURN_IF_ERROR(Check(result, row));
    by_kind[row.kind].push_back(&row);
  }
  for (const auto& [kind, rows] : by_kind) {
    if (kind != EventKind::kQuerySpin) KindCounts(kind, counts).Add(rows);
  }
  if (result.counts_complete == false) counts.window.lost_families = counts.window.recorded_families;
  return counts;
}

std::vector<analysis::gate::KernelCount> KernelsOf(const store::BenchmarkResult& result) {
  std::vector<analysis::gate::KernelCount> kernels;
  for (const store::KernelAggregate& kernel : result.kernels) {
    kernels.push_back({kernel.name, {kernel.min_count, kernel.max_count}});
  }
  return kernels;
}

std::vector<analysis::gate::SiteCount> SitesOf(const store::BenchmarkResult& result) {
  std::vector<analysis::gate::SiteCount> sites;
  const int64_t iteration_count = result.iteration_count.value_or(0);
  if (iteration_count <= 0) return sites;
  for (const store::SyncSite& site : result.sync_sites) {
    if (!IsSyncPoint(site.kind)) continue;
    const int64_t least = site.count / iteration_count;
    const int64_t most = least + (site.count % iteration_count == 0 ? 0 : 1);
    sites.push_back({std::string(store::Text(site.kind)),
                     site.api.value_or(""),
                     site.file,
                     site.function,
                     site.line,
                     site.native_symbol,
                     {least, most},
                     site.operator_name});
  }
  return sites;
}

const store::Point* FindPoint(const store::BenchmarkResult& result, std::string_view metric) {
  const auto found = std::find_if(result.points.begin(), result.points.end(),
                                  [&](const store::Point& point) { return point.metric.name == metric; });
  return found == result.points.end() ? nullptr : &*found;
}

std::vector<analysis::gate::Round> RoundsOf(const store::Point& point) {
  struct Samples {
    std::vector<double> times_ns;
    std::vector<double> clocks_hz;
  };
  std::map<int64_t, Samples> by_round;
  for (const store::Sample& sample : point.samples) {
    Samples& samples = by_round[sample.round];
    samples.times_ns.push_back(static_cast<double>(sample.value));
    if (sample.sm_clock_hz) samples.clocks_hz.push_back(static_cast<double>(*sample.sm_clock_hz));
  }
  std::vector<analysis::gate::Round> rounds;
  for (auto& [number, samples] : by_round) {
    analysis::gate::Round& round = rounds.emplace_back();
    round.time_ns = stats::MedianInPlace(samples.times_ns);
    if (!samples.clocks_hz.empty()) round.sm_clock_hz = stats::MedianInPlace(samples.clocks_hz);
  }
  return rounds;
}

}  // namespace stallhound::cli
