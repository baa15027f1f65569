#pragma once

// What a format must do: take tracks and slices. A format is one pair of files with one class.

#include <absl/status/status.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "capture/export/export.h"

namespace stallhound::capture {

using TrackId = uint32_t;

struct Track {
  std::string name;
  std::optional<TrackId> parent;  // nullopt: a group (a process, a GPU) of other tracks
  int64_t pid = 0;                // of the group: process, or device
  int64_t tid = 0;                // unique in the group: thread or stream, else a number made up
  bool is_process = false;        // a group that is a process, not a GPU
};

struct Argument {
  std::string_view name;
  std::variant<int64_t, std::string_view> value;
};

// An event with a duration. Slices of one track nest or follow each other, and come by start.
struct Slice {
  TrackId track = 0;
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  std::string_view name;
  std::string_view category;  // Kineto's: "kernel", "cuda_runtime", ...
  std::span<const Argument> arguments;
  std::optional<uint64_t> flow_id;  // joins a launch with its work
  bool is_flow_end = false;
};

class TraceSink {
 public:
  virtual ~TraceSink() = default;
  // Called before the track's first slice.
  virtual absl::Status AddTrack(TrackId id, const Track& track) = 0;
  virtual absl::Status Add(const Slice& slice) = 0;
  virtual absl::Status Finish() = 0;
};

std::unique_ptr<TraceSink> MakePerfettoSink(const ExportOutput& output);
std::unique_ptr<TraceSink> MakeChromeSink(const CaptureInfo& info, const ExportOutput& output);
std::unique_ptr<TraceSink> MakeCsvSink(const ExportOutput& output);

}  // namespace stallhound::capture
