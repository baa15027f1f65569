#pragma once

// What an import found, as one JSON object: the numbers by which anyone can check an importer from outside
// (`stallhound import --counts`). One collector serves all recordings; formats add the facts that no table holds.

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/json_writer.h"
#include "capture/reader.h"

namespace stallhound::capture {

struct ImportCounts {
  std::string format;  // "kineto", "nsys sqlite", "google benchmark", ...

  // Rows of the recording (kernels and copies include those without a usable time; the *_timed ones do not).
  std::optional<int64_t> kernels, kernels_timed, kernels_with_launch, kernels_without_launch, kernels_from_graph;
  std::optional<double> kernel_time_us;                  // sum of durations
  std::optional<std::vector<int64_t>> kernel_start_ns;   // since the epoch, if known; only for few kernels
  std::optional<std::map<std::string, int64_t>> memcpy;  // by direction: "HtoD", "DtoH", ...
  std::optional<int64_t> memcpy_timed, memsets;
  std::optional<int64_t> cpu_ops, steps, streams, devices;
  std::optional<std::map<std::string, int64_t>> item_ops;    // operators that read a scalar back
  std::optional<std::map<std::string, int64_t>> host_waits;  // calls named *Synchronize, by name
  std::optional<double> host_wait_us;
  std::optional<std::map<std::string, int64_t>> cuda_sync;  // synchronisation records by kind
  std::optional<int64_t> device_side_waits;                 // stream-wait-event
  std::optional<int64_t> runtime_calls, driver_calls, mallocs, frees, graph_launches;

  // Facts of the format: appended to the JSON in this order. Integers, then texts (nullopt is null), then string lists.
  std::vector<std::pair<std::string, std::optional<int64_t>>> numbers;
  std::vector<std::pair<std::string, std::optional<std::string>>> texts;
  std::vector<std::pair<std::string, std::optional<std::vector<std::string>>>> lists;
  std::vector<std::pair<std::string, std::map<std::string, double>>> maps;

  std::map<std::string, std::string> loss_details;  // text id of the loss counter -> an example
  std::map<std::string, int64_t> losses;            // text id of the loss counter -> count
  std::vector<std::string> notes;                   // sentences: what this recording cannot answer, what was odd
};

// "HtoD", "DtoH", ...
const char* CopyDirectionName(CopyDirection direction);

// One JSON object on one line, keys as in the struct; unset fields are absent.
std::string ToJson(const ImportCounts& counts);

// The same object as one value of a larger document.
void WriteJson(const ImportCounts& counts, JsonWriter& json);

// How a format differs in what it counts.
struct CountRules {
  // Nsight: runtime and driver rows are counted together as runtime_calls.
  bool driver_calls_in_runtime_calls = false;
  bool cuda_sync_by_kind = true;
};

// Reads every table of `reader` once and counts. Cost: one pass. Errors: those of CaptureReader::Read.
absl::StatusOr<ImportCounts> CountCapture(CaptureReader& reader, const CountRules& rules);

}  // namespace stallhound::capture
