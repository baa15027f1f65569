#include "analysis/hunt/steps/steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "analysis/hunt/measured.h"
#include "analysis/hunt/steps/anchors.h"
#include "analysis/hunt/steps/ranges.h"
#include "analysis/hunt/steps/submissions.h"
#include "base/status_macros.h"

namespace stallhound::analysis {
namespace {

using capture::ApiClass;
using capture::OverheadKind;
using capture::Table;

// True if the segments have a steady state.
bool Take(std::vector<Segment>& segments, double explained_ratio, ProcessSteps& steps) {
  const std::optional<int64_t> period_ns = JudgeSegments(segments);
  if (!period_ns) return false;
  steps.segments = std::move(segments);
  steps.period_ns = *period_ns;
  steps.explained_ratio = explained_ratio;
  return true;
}

ProcessSteps StepsOf(uint32_t process_id, const std::vector<RangeGroup>& groups, const ProcessSubmissions& process,
                     const std::vector<Token>& tokens) {
  ProcessSteps steps;
  steps.process_id = process_id;
  RangeSteps marked = FindRangeSteps(groups, process, tokens);
  if (Take(marked.segments, marked.explained_ratio, steps)) {
    steps.source = StepSource::kNvtx;
    steps.range = marked.name;
    return steps;
  }
  if (process.sequence.empty()) {
    steps.reason = process.unplaced_count > 0 ? "the recording does not say when the GPU work was launched"
                                              : "nothing was submitted to a GPU and no range marks steps";
    return steps;
  }
  SequenceSteps found = FindSequenceSteps(process, tokens);
  if (Take(found.segments, found.explained_ratio, steps)) {
    steps.source = StepSource::kSequence;
  } else {
    steps.reason = found.reason.empty() ? "no two steps in a row have equal work, waits and allocations" : found.reason;
  }
  return steps;
}

const char* OneOffName(ApiClass api_class) {
  switch (api_class) {
    case ApiClass::kDeviceAllocate:
    case ApiClass::kVirtualMemory:
      return "device allocation";
    case ApiClass::kHostAllocate:
    case ApiClass::kHostRegister:
      return "host allocation";
    case ApiClass::kModuleLoad:
      return "module loading";
    case ApiClass::kGraphInstantiate:
      return "graph instantiation";
    default:
      return nullptr;
  }
}

// Loading and allocation outside the spans.
class OneOffVisitor : public capture::CaptureVisitor {
 public:
  explicit OneOffVisitor(const std::vector<Span>& spans) : spans_(spans) {}

  absl::Status On(const capture::HostCallBatch& batch) override {
    for (size_t i = 0; i < batch.size; ++i) {
      if (!batch.is_nested[i]) Add(OneOffName(batch.api_class[i]), batch, i);
    }
    return absl::OkStatus();
  }
  absl::Status On(const capture::OverheadBatch& batch) override {
    for (size_t i = 0; i < batch.size; ++i) {
      if (batch.kind[i] == OverheadKind::kLazyFunctionLoading) Add("lazy function loading", batch, i);
    }
    return absl::OkStatus();
  }
  void AddWarmUp(int64_t more_ns) {
    OneOffCost& cost = costs_["warm-up steps, beyond a steady step"];
    ++cost.count;
    cost.host_ns += more_ns;
  }
  std::vector<OneOffCost> Finish() const {
    std::vector<OneOffCost> costs;
    for (const auto& [what, cost] : costs_) costs.push_back({what, cost.count, cost.host_ns});
    std::stable_sort(costs.begin(), costs.end(),
                     [](const OneOffCost& a, const OneOffCost& b) { return a.host_ns > b.host_ns; });
    return costs;
  }

 private:
  template <typename Batch>
  void Add(const char* what, const Batch& batch, size_t i) {
    if (what == nullptr || spans_.Find(batch.process_id[i], batch.start_ns[i])) return;
    OneOffCost& cost = costs_[what];
    ++cost.count;
    cost.host_ns += batch.end_ns[i] - batch.start_ns[i];
  }

  const MeasuredSpans spans_;
  std::map<std::string, OneOffCost> costs_;
};

bool IsSelected(const StepSelection& selection, const Segment& segment, int64_t number) {
  if (selection.numbers) return number >= selection.numbers->first && number <= selection.numbers->second;
  if (selection.skip_count) return number > *selection.skip_count && segment.role != StepRole::kOther;
  return segment.role == StepRole::kSteady;
}

void AddProcess(const ProcessSteps& process, const StepSelection& selection, MeasuredSteps& result) {
  StepsSummary& summary = result.summary;
  summary.source = process.source;
  if (process.source == StepSource::kNvtx) summary.range = process.range;
  summary.period_ns = std::max(summary.period_ns.value_or(0), process.period_ns);
  summary.explained_ratio = std::min(summary.explained_ratio.value_or(1), process.explained_ratio);
  int64_t number = 0;
  for (const Segment& segment : process.segments) {
    ++summary.found_count;
    summary.warm_up_count += segment.role == StepRole::kWarmUp;
    summary.other_count += segment.role == StepRole::kOther;
    if (!IsSelected(selection, segment, ++number)) continue;
    ++summary.measured_count;
    result.spans.push_back({process.process_id, segment.start_ns, segment.end_ns});
  }
}

absl::Status CheckSelection(const StepSelection& selection, const StepsSummary& summary) {
  if (!selection.numbers && !selection.skip_count) return absl::OkStatus();
  const std::string what = selection.numbers
                               ? fmt::format("steps {}-{}", selection.numbers->first, selection.numbers->second)
                               : fmt::format("steps behind the first {}", *selection.skip_count);
  if (summary.source == StepSource::kNone) {
    return absl::NotFoundError(
        fmt::format("measuring {}: no steady state found: {}; name a range instead", what, *summary.reason));
  }
  if (summary.measured_count > 0) return absl::OkStatus();
  return absl::NotFoundError(fmt::format("measuring {}: the recording has {} steps", what, summary.found_count));
}

}  // namespace

absl::StatusOr<std::vector<ProcessSteps>> FindSteps(capture::CaptureReader& reader) {
  SH_ASSIGN_OR_RETURN(RangeGroups groups, ReadRangeGroups(reader));
  SH_ASSIGN_OR_RETURN(Submissions submissions, ReadSubmissions(reader));
  std::set<uint32_t> ids;
  for (const auto& [id, of_process] : groups) ids.insert(id);
  for (const auto& [id, process] : submissions.processes) ids.insert(id);
  std::vector<ProcessSteps> result;
  for (const uint32_t id : ids) {
    result.push_back(StepsOf(id, groups[id], submissions.processes[id], submissions.tokens));
    submissions.processes.erase(id);
  }
  return result;
}

absl::StatusOr<MeasuredSteps> MeasureSteps(capture::CaptureReader& reader, const StepSelection& selection) {
  SH_ASSIGN_OR_RETURN(const std::vector<ProcessSteps> processes, FindSteps(reader));
  MeasuredSteps result;
  for (const ProcessSteps& process : processes) {
    if (process.source != StepSource::kNone) {
      AddProcess(process, selection, result);
    } else if (!result.summary.reason || *result.summary.reason < process.reason) {
      result.summary.reason = process.reason;
    }
  }
  if (result.summary.source != StepSource::kNone) result.summary.reason.reset();
  if (processes.empty()) result.summary.reason = "nothing was submitted to a GPU and no range marks steps";
  SH_RETURN_IF_ERROR(CheckSelection(selection, result.summary));
  if (result.spans.empty()) return result;
  OneOffVisitor one_off(result.spans);
  for (const ProcessSteps& process : processes) {
    for (const Segment& segment : process.segments) {
      if (segment.role == StepRole::kWarmUp) one_off.AddWarmUp(segment.end_ns - segment.start_ns - process.period_ns);
    }
  }
  SH_RETURN_IF_ERROR(reader.Read(capture::Tables({Table::kHostCall, Table::kOverhead}), one_off));
  result.summary.one_off_costs = one_off.Finish();
  return result;
}

absl::StatusOr<std::vector<Span>> ChooseSpans(capture::CaptureReader& reader, const Directory& directory,
                                              const std::optional<StepSelection>& selection,
                                              std::optional<StepsSummary>& summary) {
  if (!selection) return directory.MeasuredSpans();
  SH_ASSIGN_OR_RETURN(MeasuredSteps steps, MeasureSteps(reader, *selection));
  summary = std::move(steps.summary);
  if (steps.spans.empty()) return directory.MeasuredSpans();
  return std::move(steps.spans);
}

}  // namespace stallhound::analysis
