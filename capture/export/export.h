#pragma once

// Recordings for other viewers. Three formats: Perfetto (the protobuf of ui.perfetto.dev: tracks of their own, exact
// nanoseconds, names stored once, about a tenth of the JSON), Chrome JSON (with the categories and arguments of Kineto,
// for chrome://tracing and tools that read PyTorch traces), and CSV (one line an event).

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "capture/reader.h"

namespace stallhound::capture {

enum class ExportFormat { kPerfetto, kChrome, kCsv };

// What an analysis adds: rows of a track of its own above the others.
struct ExtraSlice {
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  std::string name;
  std::vector<std::pair<std::string, std::string>> arguments;
};
struct ExtraTrack {
  std::string name;
  std::vector<ExtraSlice> slices;  // by start; may overlap
};

// [start_ns, end_ns) since the capture's start.
struct ExportWindow {
  int64_t start_ns = 0;
  int64_t end_ns = 0;
};

struct ExportOptions {
  ExportFormat format = ExportFormat::kPerfetto;
  std::optional<ExportWindow> window;  // only what overlaps it, whole; nullopt: everything
  std::vector<ExtraTrack> extra_tracks;
};

struct ExportSummary {
  int64_t slice_count = 0;
  int64_t untimed_copy_count = 0;  // left out: when the GPU made them is not known
  uint64_t byte_count = 0;
};

// Takes a piece of the file.
using ExportOutput = std::function<absl::Status(std::string_view)>;

// Reads `reader` twice (dimensions, events) and writes the file in pieces. Memory: kernel shapes, frames and 8 bytes a
// stack; nothing for events. Errors: those of the reader and of `output`.
absl::StatusOr<ExportSummary> Export(CaptureReader& reader, const ExportOptions& options, const ExportOutput& output);

}  // namespace stallhound::capture
