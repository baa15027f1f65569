#include "capture/export/tracks.h"

#include <fmt/format.h>

#include "base/status_macros.h"

namespace stallhound::capture {

void TrackTable::Add(const ProcessBatch& batch) {
  for (size_t i = 0; i < batch.size; ++i) processes_[batch.process_id[i]] = batch.Get(i);
}

void TrackTable::Add(const ThreadBatch& batch) {
  for (size_t i = 0; i < batch.size; ++i) threads_[batch.thread_id[i]] = batch.Get(i);
}

void TrackTable::Add(const DeviceBatch& batch) {
  for (size_t i = 0; i < batch.size; ++i) devices_[batch.device_id[i]] = batch.Get(i);
}

std::string TrackTable::TrackName(const TrackKey& key, size_t lane) const {
  const auto& [group, group_id, id, content] = key;
  std::string name;
  if (const auto it = threads_.find(id);
      group == Group::kProcess && content != Content::kGaps && it != threads_.end()) {
    const std::string_view own = it->second.name ? strings_.Get(*it->second.name) : "thread";
    name = fmt::format("{} (tid {}): ", own, it->second.tid);
  }
  if (group == Group::kDevice) name = fmt::format("stream {}: ", id);
  switch (content) {
    case Content::kCalls:
      name += "CUDA calls";
      break;
    case Content::kRanges:
      name += "ranges";
      break;
    case Content::kFreeRanges:
      name += "start-end ranges";
      break;
    case Content::kOverheads:
      name += "overhead";
      break;
    case Content::kKernels:
      name += "kernels";
      break;
    case Content::kCopies:
      name += "copies";
      break;
    case Content::kMemsets:
      name += "memsets";
      break;
    case Content::kGraphs:
      name += "graphs, as a whole";
      break;
    case Content::kGaps:
      name += "not recorded";
      break;
    case Content::kExtra:
      name += extra_tracks_[id].name;
      break;
  }
  return lane == 0 ? name : fmt::format("{} ({})", name, lane + 1);
}

absl::StatusOr<TrackId> TrackTable::GroupTrack(Group group, uint32_t id) {
  const auto [it, is_new] = groups_.try_emplace({group, id}, track_count_);
  if (!is_new) return it->second;
  ++track_count_;
  Track track;
  if (group == Group::kProcess) {
    const auto process = processes_.find(id);
    track.is_process = true;
    track.pid = process != processes_.end() ? process->second.pid : id;
    const bool is_named = process != processes_.end() && process->second.name;
    track.name = is_named ? std::string(strings_.Get(*process->second.name)) : fmt::format("process {}", track.pid);
  } else if (group == Group::kDevice) {
    const auto device = devices_.find(id);
    track.pid = id;
    track.name = fmt::format("GPU {}", id);
    if (device != devices_.end() && device->second.name)
      track.name += fmt::format(": {}", strings_.Get(*device->second.name));
  } else {
    track.pid = -1;
    track.name = "Stallhound";
  }
  SH_RETURN_IF_ERROR(sink_.AddTrack(it->second, track));
  return it->second;
}

// Formats with one track a thread draw what shares a tid as one call stack: every track has a tid of its own. Calls and
// kernels keep that of their thread and stream; the others are numbered behind what Linux gives.
int64_t TrackTable::NewTid(const TrackKey& key, size_t lane, int64_t pid) {
  constexpr int64_t kFirstMadeTid = 10'000'000;
  const auto& [group, group_id, id, content] = key;
  const bool is_main =
      lane == 0 && (content == Content::kCalls || content == Content::kKernels || content == Content::kExtra);
  if (is_main) {
    const auto thread = threads_.find(id);
    const int64_t tid = group == Group::kProcess && thread != threads_.end() ? thread->second.tid : id;
    if (tids_.insert({pid, tid}).second) return tid;
  }
  int64_t tid;
  do {
    tid = kFirstMadeTid + made_tid_count_++;
  } while (!tids_.insert({pid, tid}).second);
  return tid;
}

absl::StatusOr<TrackId> TrackTable::NewTrack(const TrackKey& key, size_t lane) {
  const auto& [group, group_id, id, content] = key;
  Track track;
  SH_ASSIGN_OR_RETURN(track.parent, GroupTrack(group, group_id));
  track.name = TrackName(key, lane);
  if (group == Group::kProcess) {
    const auto process = processes_.find(group_id);
    track.pid = process != processes_.end() ? process->second.pid : group_id;
  } else {
    track.pid = group == Group::kDevice ? group_id : -1;
  }
  track.tid = NewTid(key, lane, track.pid);
  const TrackId track_id = track_count_++;
  SH_RETURN_IF_ERROR(sink_.AddTrack(track_id, track));
  return track_id;
}

absl::Status TrackTable::Add(const TrackKey& key, Slice slice) {
  TrackState& state = tracks_[key];
  const size_t lane = state.lanes.Place(slice.start_ns, slice.end_ns);
  if (lane >= state.ids.size()) {
    SH_ASSIGN_OR_RETURN(const TrackId id, NewTrack(key, lane));
    state.ids.push_back(id);
  }
  slice.track = state.ids[lane];
  ++slice_count_;
  return sink_.Add(slice);
}

}  // namespace stallhound::capture
