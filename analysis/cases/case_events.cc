#include "analysis/cases/case_events.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "analysis/cases/cases.h"
#include "analysis/gate/kernel_name.h"
#include "base/status_macros.h"

namespace stallhound::analysis {
namespace {

using capture::ApiClass;
using capture::CopyDirection;
using capture::Table;
using store::EventKind;

bool ByStart(const Span& a, const Span& b) {
  return std::pair(a.process_id, a.start_ns) < std::pair(b.process_id, b.start_ns);
}

std::optional<std::string> Extent(std::optional<int64_t> x, std::optional<int64_t> y, std::optional<int64_t> z) {
  if (!x || !y || !z) return std::nullopt;
  return fmt::format("{}x{}x{}", *x, *y, *z);
}

std::optional<capture::MemoryKind> Known(std::optional<capture::MemoryKind> kind) {
  return kind == capture::MemoryKind::kUnknown ? std::nullopt : kind;
}

// Arrays lie on the device.
std::optional<EventKind> KindOf(CopyDirection direction) {
  switch (direction) {
    case CopyDirection::kHostToDevice:
    case CopyDirection::kHostToArray:
      return EventKind::kHostToDevice;
    case CopyDirection::kDeviceToHost:
    case CopyDirection::kArrayToHost:
      return EventKind::kDeviceToHost;
    case CopyDirection::kArrayToArray:
    case CopyDirection::kArrayToDevice:
    case CopyDirection::kDeviceToArray:
    case CopyDirection::kDeviceToDevice:
      return EventKind::kDeviceToDevice;
    case CopyDirection::kHostToHost:
      return EventKind::kHostToHost;
    case CopyDirection::kPeerToPeer:
      return EventKind::kPeerToPeer;
    case CopyDirection::kUnknown:
      break;
  }
  return std::nullopt;
}

std::optional<EventKind> KindOf(SiteKind kind) {
  switch (kind) {
    case SiteKind::kWait:
      return EventKind::kWait;
    case SiteKind::kPageableCopy:
      return EventKind::kPageableCopy;
    case SiteKind::kAllocator:
      return EventKind::kAllocator;
    case SiteKind::kLoader:
      return EventKind::kLoader;
    case SiteKind::kQuerySpin:
    case SiteKind::kQueueFull:
      break;
  }
  return std::nullopt;
}

}  // namespace

CaseDirectory::CaseDirectory(const capture::CaptureReader& reader, std::span<const std::string> ids)
    : Directory(reader, std::nullopt), reader_(reader) {
  for (const std::string& id : ids) ids_.try_emplace(id, ids_.size());
}

capture::TableSet CaseDirectory::Wanted() { return Directory::Wanted() | capture::Tables({Table::kKernelShape}); }

absl::Status CaseDirectory::On(const capture::RangeBatch& batch) {
  SH_RETURN_IF_ERROR(Directory::On(batch));
  for (size_t i = 0; i < batch.size; ++i) {
    const std::string_view name = reader_.strings().Get(batch.name[i]);
    const Span span{batch.process_id[i], batch.start_ns[i], batch.end_ns[i].value_or(reader_.info().end_ns)};
    if (name == kIterationRange) iterations_.push_back(span);
    if (const auto id = ids_.find(name); id != ids_.end()) cases_.push_back({span, id->second});
  }
  return absl::OkStatus();
}

absl::Status CaseDirectory::On(const capture::KernelShapeBatch& batch) {
  for (size_t i = 0; i < batch.size; ++i) {
    KernelKey key;
    key.name = gate::NormalizeKernelName(reader_.strings().Get(batch.name[i]));
    key.grid = Extent(batch.grid_x[i], batch.grid_y[i], batch.grid_z[i]);
    key.block = Extent(batch.block_x[i], batch.block_y[i], batch.block_z[i]);
    key.register_count = batch.registers_per_thread[i];
    if (batch.static_shared_bytes[i] && batch.dynamic_shared_bytes[i]) {
      key.shared_memory_bytes = *batch.static_shared_bytes[i] + *batch.dynamic_shared_bytes[i];
    }
    const auto [known, is_new] = kernel_indices_.try_emplace(key, kernels_.size());
    if (is_new) kernels_.push_back(key);
    shapes_[batch.kernel_shape_id[i]] = known->second;
  }
  return absl::OkStatus();
}

std::optional<size_t> CaseDirectory::KernelIndex(uint32_t shape_id) const {
  const auto found = shapes_.find(shape_id);
  return found == shapes_.end() ? std::nullopt : std::optional(found->second);
}

std::vector<CaseEvents> CaseDirectory::EmptyCases() const {
  std::vector<CaseSpan> cases = cases_;
  std::stable_sort(cases.begin(), cases.end(),
                   [](const CaseSpan& a, const CaseSpan& b) { return ByStart(a.span, b.span); });
  std::vector<Span> spans;
  for (const CaseSpan& one : cases) spans.push_back(one.span);
  const analysis::MeasuredSpans measured(spans);
  std::vector<Span> iterations = iterations_;
  std::stable_sort(iterations.begin(), iterations.end(), ByStart);
  std::vector<CaseEvents> events(ids_.size());
  for (const Span& iteration : iterations) {
    const std::optional<size_t> owner = measured.Find(iteration.process_id, iteration.start_ns);
    if (owner) events[cases[*owner].id].iterations.push_back(iteration);
  }
  for (CaseEvents& one : events) one.marks.resize(one.iterations.size());
  return events;
}

CaseCounter::CaseCounter(const CaseDirectory& directory, const capture::StringTable& strings, SyncPointFinder& finder,
                         std::vector<CaseEvents>& cases)
    : directory_(directory), strings_(strings), finder_(finder), cases_(cases) {
  std::vector<Span> spans;
  std::vector<std::pair<size_t, size_t>> owners;
  for (size_t i = 0; i < cases.size(); ++i) {
    for (size_t iteration = 0; iteration < cases[i].iterations.size(); ++iteration) {
      spans.push_back(cases[i].iterations[iteration]);
      owners.emplace_back(i, iteration);
    }
  }
  std::vector<size_t> order(spans.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return ByStart(spans[a], spans[b]); });
  for (const size_t i : order) {
    spans_.push_back(spans[i]);
    owners_.push_back(owners[i]);
  }
  growth_.resize(spans_.size());
  measured_.emplace(spans_);
}

capture::TableSet CaseCounter::WantedTables() {
  return capture::Tables({Table::kHostCall, Table::kKernel, Table::kCopy, Table::kMemset, Table::kOverhead});
}

std::optional<CaseCounter::Place> CaseCounter::At(uint32_t process_id, int64_t time_ns) const {
  const std::optional<size_t> span = measured_->Find(process_id, time_ns);
  if (!span) return std::nullopt;
  const auto [owner, iteration] = owners_[*span];
  return Place{&cases_[owner], iteration, *span};
}

template <typename Batch>
std::optional<CaseCounter::Place> CaseCounter::AtLaunch(const Batch& batch, size_t i) {
  if (batch.launch_start_ns[i]) return At(batch.process_id[i], *batch.launch_start_ns[i]);
  if (const std::optional<Place> place = At(batch.process_id[i], batch.start_ns[i])) place->events->has_unplaced = true;
  return std::nullopt;
}

void CaseCounter::Count(const Place& place, const EventKey& key, uint64_t bytes) {
  EventSeries& series = place.events->events[key];
  series.counts.resize(place.events->iterations.size());
  series.bytes.resize(place.events->iterations.size());
  ++series.counts[place.iteration];
  series.bytes[place.iteration] += static_cast<int64_t>(bytes);
}

void CaseCounter::CountCall(const Place& place, ApiClass api_class) {
  if (api_class == ApiClass::kGraphLaunch) Count(place, {EventKind::kGraphLaunch}, 0);
  if (api_class == ApiClass::kDeviceAllocate) Count(place, {EventKind::kDeviceAllocation}, 0);
  if (api_class == ApiClass::kHostAllocate) Count(place, {EventKind::kHostAllocation}, 0);
}

// Memory that an iteration takes and gives back is its business; memory that it keeps is a cache that still grows.
void CaseCounter::Mark(const Place& place, const capture::HostCallBatch& batch, size_t i) {
  gate::IterationMarks& marks = place.events->marks[place.iteration];
  const ApiClass api_class = batch.api_class[i];
  if (api_class == ApiClass::kModuleLoad) marks.has_module_load = true;
  if (batch.is_nested[i]) return;
  Growth& growth = growth_[place.span];
  growth.device_count += api_class == ApiClass::kDeviceAllocate ? 1 : 0;
  growth.device_count -= api_class == ApiClass::kDeviceFree ? 1 : 0;
  growth.host_count += api_class == ApiClass::kHostAllocate ? 1 : 0;
  growth.host_count -= api_class == ApiClass::kHostFree ? 1 : 0;
  if (api_class == ApiClass::kVirtualMemory) {
    const std::string_view api = strings_.Get(batch.api[i]);
    growth.device_count += api == "cuMemMap" ? 1 : 0;
    growth.device_count -= api == "cuMemUnmap" ? 1 : 0;
  }
  marks.has_allocator_growth = growth.device_count > 0 || growth.host_count > 0;
}

absl::Status CaseCounter::On(const capture::HostCallBatch& batch) {
  for (size_t i = 0; i < batch.size; ++i) {
    const std::optional<Place> place = At(batch.process_id[i], batch.start_ns[i]);
    if (!place) continue;
    Mark(*place, batch, i);
    if (!batch.is_nested[i]) CountCall(*place, batch.api_class[i]);
  }
  return finder_.On(batch);
}

absl::Status CaseCounter::On(const capture::KernelBatch& batch) {
  for (size_t i = 0; i < batch.size; ++i) {
    const std::optional<Place> place = AtLaunch(batch, i);
    if (!place) continue;
    Count(*place, {EventKind::kKernel}, 0);
    const std::optional<size_t> kernel = directory_.KernelIndex(batch.kernel_shape_id[i]);
    if (!kernel) continue;
    place->events->kernels[*kernel].push_back(
        {static_cast<int64_t>(place->iteration), batch.end_ns[i] - batch.start_ns[i]});
  }
  return absl::OkStatus();
}

absl::Status CaseCounter::On(const capture::CopyBatch& batch) {
  for (size_t i = 0; i < batch.size; ++i) {
    const std::optional<Place> place = AtLaunch(batch, i);
    if (!place) continue;
    const std::optional<EventKind> kind = KindOf(batch.direction[i]);
    if (kind) Count(*place, {*kind, Known(batch.source_kind[i]), Known(batch.target_kind[i])}, batch.bytes[i]);
    place->events->has_unplaced = place->events->has_unplaced || !kind;
  }
  return finder_.On(batch);
}

absl::Status CaseCounter::On(const capture::MemsetBatch& batch) {
  for (size_t i = 0; i < batch.size; ++i) {
    if (const std::optional<Place> place = AtLaunch(batch, i)) Count(*place, {EventKind::kMemset}, batch.bytes[i]);
  }
  return absl::OkStatus();
}

absl::Status CaseCounter::On(const capture::OverheadBatch& batch) {
  for (size_t i = 0; i < batch.size; ++i) {
    const std::optional<Place> place = At(batch.process_id[i], batch.start_ns[i]);
    if (!place) continue;
    gate::IterationMarks& marks = place->events->marks[place->iteration];
    const capture::OverheadKind kind = batch.kind[i];
    if (kind == capture::OverheadKind::kModuleLoading || kind == capture::OverheadKind::kLazyFunctionLoading) {
      marks.has_module_load = true;
    }
    // Kernels compiled while the program runs are what an autotuner tries.
    if (kind == capture::OverheadKind::kDriverCompiler) marks.has_autotuning = true;
  }
  return absl::OkStatus();
}

void CaseCounter::AddPoints(const std::vector<SyncPoint>& points) {
  for (const SyncPoint& point : points) {
    const std::optional<EventKind> kind = KindOf(point.kind);
    if (!kind) continue;
    if (const std::optional<Place> place = At(point.process_id, point.start_ns)) Count(*place, {*kind}, 0);
  }
}

}  // namespace stallhound::analysis
