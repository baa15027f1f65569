#pragma once

// A recording as tracks of slices: which row becomes which slice, under which name, on which track.

#include <absl/container/flat_hash_map.h>
#include <absl/status/status.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "capture/export/export.h"
#include "capture/export/trace_sink.h"
#include "capture/export/tracks.h"
#include "capture/reader.h"

namespace stallhound::capture {

// Receives one read of the dimensions, then one of the events. Not thread-safe.
class Timeline : public CaptureVisitor {
 public:
  static TableSet Dimensions();
  static TableSet Events();

  Timeline(const CaptureReader& reader, const ExportOptions& options, TraceSink& sink)
      : reader_(reader), options_(options), tracks_(reader.strings(), options.extra_tracks, sink) {}

  // After the dimensions: the tracks that an analysis adds, at the top.
  absl::Status AddExtraTracks();
  int64_t slice_count() const { return tracks_.slice_count(); }
  int64_t untimed_copy_count() const { return untimed_copy_count_; }

  absl::Status On(const ProcessBatch& batch) override {
    tracks_.Add(batch);
    return absl::OkStatus();
  }
  absl::Status On(const ThreadBatch& batch) override {
    tracks_.Add(batch);
    return absl::OkStatus();
  }
  absl::Status On(const DeviceBatch& batch) override {
    tracks_.Add(batch);
    return absl::OkStatus();
  }
  absl::Status On(const KernelShapeBatch& batch) override;
  absl::Status On(const FrameBatch& batch) override;
  absl::Status On(const StackFrameBatch& batch) override;
  absl::Status On(const HostCallBatch& batch) override;
  absl::Status On(const KernelBatch& batch) override;
  absl::Status On(const CopyBatch& batch) override;
  absl::Status On(const MemsetBatch& batch) override;
  absl::Status On(const GraphRunBatch& batch) override;
  absl::Status On(const RangeBatch& batch) override;
  absl::Status On(const OverheadBatch& batch) override;
  absl::Status On(const WindowBatch& batch) override;

 private:
  bool IsWanted(int64_t start_ns, int64_t end_ns) const;
  std::string_view Text(StringId id) const { return reader_.strings().Get(id); }
  template <typename Batch>
  absl::Status AddGpuWork(const Batch& batch, size_t i, Content content, Slice slice, std::vector<Argument>& arguments);
  void AddPlace(std::optional<uint32_t> stack_id, std::vector<Argument>& arguments) const;

  const CaptureReader& reader_;
  const ExportOptions& options_;
  int64_t untimed_copy_count_ = 0;
  TrackTable tracks_;
  absl::flat_hash_map<uint32_t, KernelShapeRow> shapes_;
  absl::flat_hash_map<uint32_t, std::string> places_;     // user frames: "train.py:12 step"
  absl::flat_hash_map<uint32_t, uint32_t> stack_places_;  // stack -> its innermost user frame
};

}  // namespace stallhound::capture
