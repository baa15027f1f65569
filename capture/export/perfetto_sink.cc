#include <absl/container/flat_hash_map.h>

#include <algorithm>
#include <string>
#include <utility>

#include "base/status_macros.h"
#include "capture/export/protobuf.h"
#include "capture/export/trace_sink.h"

namespace stallhound::capture {
namespace {

// Field numbers of Perfetto's messages (protos/perfetto/trace/ of github.com/google/perfetto).
namespace trace {
constexpr uint32_t kPacket = 1;
}
namespace packet {
constexpr uint32_t kTimestamp = 8;
constexpr uint32_t kSequenceId = 10;
constexpr uint32_t kTrackEvent = 11;
constexpr uint32_t kInternedData = 12;
constexpr uint32_t kSequenceFlags = 13;
constexpr uint32_t kTrackDescriptor = 60;
constexpr uint64_t kStateCleared = 1;
constexpr uint64_t kNeedsState = 2;
}  // namespace packet
namespace track_descriptor {
constexpr uint32_t kUuid = 1;
constexpr uint32_t kName = 2;
constexpr uint32_t kProcess = 3;
constexpr uint32_t kParent = 5;
constexpr uint32_t kProcessPid = 1;
constexpr uint32_t kProcessName = 6;
}  // namespace track_descriptor
namespace track_event {
constexpr uint32_t kCategoryId = 3;
constexpr uint32_t kAnnotation = 4;
constexpr uint32_t kType = 9;
constexpr uint32_t kNameId = 10;
constexpr uint32_t kTrack = 11;
constexpr uint32_t kFlow = 47;
constexpr uint32_t kTerminatingFlow = 48;
constexpr uint64_t kSliceBegin = 1;
constexpr uint64_t kSliceEnd = 2;
}  // namespace track_event
namespace annotation {
constexpr uint32_t kNameId = 1;
constexpr uint32_t kInt = 4;
constexpr uint32_t kString = 6;
}  // namespace annotation
namespace interned {
constexpr uint32_t kCategory = 1;
constexpr uint32_t kEventName = 2;
constexpr uint32_t kAnnotationName = 3;
constexpr uint32_t kId = 1;
constexpr uint32_t kText = 2;
}  // namespace interned

constexpr uint64_t kSequence = 1;

// A dictionary of the sequence: texts are written once and then named by number.
class Dictionary {
 public:
  explicit Dictionary(uint32_t field) : field_(field) {}

  // The number of `text`; a new one is added to `data`.
  uint64_t Id(std::string_view text, ProtoMessage& data) {
    const auto [it, is_new] = ids_.try_emplace(std::string(text), ids_.size() + 1);
    if (is_new) {
      ProtoMessage entry;
      entry.Varint(interned::kId, it->second);
      entry.Bytes(interned::kText, text);
      data.Message(field_, entry);
    }
    return it->second;
  }

 private:
  uint32_t field_;
  absl::flat_hash_map<std::string, uint64_t> ids_;
};

class PerfettoSink : public TraceSink {
 public:
  explicit PerfettoSink(const ExportOutput& output) : output_(output) {}

  absl::Status AddTrack(TrackId id, const Track& track) override;
  absl::Status Add(const Slice& slice) override;
  absl::Status Finish() override { return absl::OkStatus(); }

 private:
  // 0 is Perfetto's own.
  static uint64_t Uuid(TrackId id) { return uint64_t{id} + 1; }
  absl::Status Write(const ProtoMessage& packet);

  const ExportOutput& output_;
  bool has_state_ = false;
  Dictionary categories_{interned::kCategory};
  Dictionary names_{interned::kEventName};
  Dictionary annotations_{interned::kAnnotationName};
};

absl::Status PerfettoSink::Write(const ProtoMessage& packet) {
  ProtoMessage file;
  file.Message(trace::kPacket, packet);
  return output_(file.bytes());
}

absl::Status PerfettoSink::AddTrack(TrackId id, const Track& track) {
  ProtoMessage descriptor;
  descriptor.Varint(track_descriptor::kUuid, Uuid(id));
  if (track.parent) descriptor.Varint(track_descriptor::kParent, Uuid(*track.parent));
  if (track.is_process && track.pid > 0 && track.pid <= INT32_MAX) {
    ProtoMessage process;
    process.Varint(track_descriptor::kProcessPid, static_cast<uint64_t>(track.pid));
    process.Bytes(track_descriptor::kProcessName, track.name);
    descriptor.Message(track_descriptor::kProcess, process);
  } else {
    descriptor.Bytes(track_descriptor::kName, track.name);
  }
  ProtoMessage packet;
  packet.Varint(packet::kSequenceId, kSequence);
  packet.Message(packet::kTrackDescriptor, descriptor);
  return Write(packet);
}

absl::Status PerfettoSink::Add(const Slice& slice) {
  ProtoMessage data;
  ProtoMessage event;
  event.Varint(track_event::kType, track_event::kSliceBegin);
  event.Varint(track_event::kTrack, Uuid(slice.track));
  event.Varint(track_event::kCategoryId, categories_.Id(slice.category, data));
  event.Varint(track_event::kNameId, names_.Id(slice.name, data));
  for (const Argument& argument : slice.arguments) {
    ProtoMessage entry;
    entry.Varint(annotation::kNameId, annotations_.Id(argument.name, data));
    if (const auto* number = std::get_if<int64_t>(&argument.value)) {
      entry.Varint(annotation::kInt, static_cast<uint64_t>(*number));
    } else {
      entry.Bytes(annotation::kString, std::get<std::string_view>(argument.value));
    }
    event.Message(track_event::kAnnotation, entry);
  }
  if (slice.flow_id) {
    event.Fixed64(slice.is_flow_end ? track_event::kTerminatingFlow : track_event::kFlow, *slice.flow_id);
  }
  ProtoMessage begin;
  begin.Varint(packet::kTimestamp, static_cast<uint64_t>(std::max<int64_t>(slice.start_ns, 0)));
  begin.Varint(packet::kSequenceId, kSequence);
  begin.Varint(packet::kSequenceFlags, packet::kNeedsState | (has_state_ ? 0 : packet::kStateCleared));
  has_state_ = true;
  if (!data.bytes().empty()) begin.Message(packet::kInternedData, data);
  begin.Message(packet::kTrackEvent, event);
  SH_RETURN_IF_ERROR(Write(begin));

  ProtoMessage end_event;
  end_event.Varint(track_event::kType, track_event::kSliceEnd);
  end_event.Varint(track_event::kTrack, Uuid(slice.track));
  ProtoMessage end;
  end.Varint(packet::kTimestamp, static_cast<uint64_t>(std::max<int64_t>(slice.end_ns, 0)));
  end.Varint(packet::kSequenceId, kSequence);
  end.Message(packet::kTrackEvent, end_event);
  return Write(end);
}

}  // namespace

std::unique_ptr<TraceSink> MakePerfettoSink(const ExportOutput& output) {
  return std::make_unique<PerfettoSink>(output);
}

}  // namespace stallhound::capture
