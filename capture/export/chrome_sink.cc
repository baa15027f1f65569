#include <cstdint>
#include <utility>
#include <vector>

#include "base/json_writer.h"
#include "base/status_macros.h"
#include "capture/export/trace_sink.h"

namespace stallhound::capture {
namespace {

constexpr double kNsPerUs = 1000;

class ChromeSink : public TraceSink {
 public:
  ChromeSink(const CaptureInfo& info, const ExportOutput& output);

  absl::Status AddTrack(TrackId id, const Track& track) override;
  absl::Status Add(const Slice& slice) override;
  absl::Status Finish() override;

 private:
  struct Place {
    int64_t pid = 0;
    int64_t tid = 0;
  };
  void Begin(const char* phase, std::string_view name, const Place& place);
  void NameOf(const char* what, const Place& place, std::string_view name);
  void Flow(const Slice& slice, const Place& place);

  JsonWriter json_;
  std::vector<Place> places_;  // by track
};

ChromeSink::ChromeSink(const CaptureInfo& info, const ExportOutput& output) : json_(output) {
  json_.BeginObject();
  json_.Field("schemaVersion", int64_t{1});
  json_.Field("displayTimeUnit", std::string("ns"));
  json_.Field("baseTimeNanoseconds", info.epoch_ns.value_or(0));
  json_.Key("traceEvents");
  json_.BeginArray();
}

void ChromeSink::Begin(const char* phase, std::string_view name, const Place& place) {
  json_.BeginObject();
  json_.Key("ph");
  json_.String(phase);
  json_.Key("name");
  json_.String(name);
  json_.Field("pid", place.pid);
  json_.Field("tid", place.tid);
}

void ChromeSink::NameOf(const char* what, const Place& place, std::string_view name) {
  Begin("M", what, place);
  json_.Key("args");
  json_.BeginObject();
  json_.Key("name");
  json_.String(name);
  json_.EndObject();
  json_.EndObject();
}

absl::Status ChromeSink::AddTrack(TrackId id, const Track& track) {
  if (id >= places_.size()) places_.resize(size_t{id} + 1);
  places_[id] = {track.pid, track.tid};
  NameOf(track.parent ? "thread_name" : "process_name", places_[id], track.name);
  return absl::OkStatus();
}

// An arrow from the call (s) to its work (f).
void ChromeSink::Flow(const Slice& slice, const Place& place) {
  Begin(slice.is_flow_end ? "f" : "s", "ac2g", place);
  json_.Field("ts", static_cast<double>(slice.start_ns) / kNsPerUs);
  json_.Key("cat");
  json_.String("ac2g");
  json_.Field("id", *slice.flow_id);
  if (slice.is_flow_end) {
    json_.Key("bp");
    json_.String("e");
  }
  json_.EndObject();
}

absl::Status ChromeSink::Add(const Slice& slice) {
  const Place& place = places_[slice.track];
  Begin("X", slice.name, place);
  json_.Key("cat");
  json_.String(slice.category);
  json_.Field("ts", static_cast<double>(slice.start_ns) / kNsPerUs);
  json_.Field("dur", static_cast<double>(slice.end_ns - slice.start_ns) / kNsPerUs);
  if (!slice.arguments.empty()) {
    json_.Key("args");
    json_.BeginObject();
    for (const Argument& argument : slice.arguments) {
      json_.Key(argument.name);
      if (const auto* number = std::get_if<int64_t>(&argument.value)) {
        json_.Int(*number);
      } else {
        json_.String(std::get<std::string_view>(argument.value));
      }
    }
    json_.EndObject();
  }
  json_.EndObject();
  if (slice.flow_id) Flow(slice, place);
  return absl::OkStatus();
}

absl::Status ChromeSink::Finish() {
  json_.EndArray();
  json_.EndObject();
  return json_.Finish();
}

}  // namespace

std::unique_ptr<TraceSink> MakeChromeSink(const CaptureInfo& info, const ExportOutput& output) {
  return std::make_unique<ChromeSink>(info, output);
}

}  // namespace stallhound::capture
