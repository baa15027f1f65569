#pragma once

// Writes Nsight exports of any length for benchmarks: training steps of one process with two threads, in the tables and
// columns of Nsight Systems 2026.2 (schema 3.25).

#include <absl/status/status.h>

#include <cstdint>
#include <string>

namespace stallhound::capture::nsys {

struct GeneratedExport {
  int64_t event_count = 0;  // rows of all event tables together, rounded up to whole steps
  // Calls of the first thread before those of the second, as Nsight writes them since 2025.6; else in order of time.
  bool by_thread = false;
};

// Cost: about 70 bytes and a microsecond an event. `path` must not exist. Errors: those of SQLite.
absl::Status GenerateExport(const std::string& path, const GeneratedExport& options);

}  // namespace stallhound::capture::nsys
