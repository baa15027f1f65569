#pragma once

// The probe's facts, by subject. Each function appends members to the JSON object that is open in `json`; README.md
// lists the keys.

#include <string>

#include "record/probe/json_text.h"

namespace stallhound::record {

struct ProbeOptions {
  std::string recorder;             // path of libstallhound_record.so; "": not asked
  std::string root;                 // in front of /proc, /dev and /usr, for tests
  const char* nvml_path = nullptr;  // nullptr: the driver's; for tests
  const char* cuda_path = nullptr;  // as above
  int timeout_s = 30;               // for each step in a child
};

// Which steps ended badly; goes into `crashed_steps`.
struct StepFailures {
  std::string names;  // JSON strings, joined by commas
  void Add(const char* step);
};

void AddHostFacts(const ProbeOptions& options, JsonText& json);
void AddEnvironmentFacts(JsonText& json);
void AddCudaFacts(const ProbeOptions& options, JsonText& json, StepFailures& failures);
void AddNvmlFacts(const ProbeOptions& options, JsonText& json, StepFailures& failures);
void AddCuptiFacts(const ProbeOptions& options, JsonText& json, StepFailures& failures);
void AddRecorderFacts(const ProbeOptions& options, JsonText& json, StepFailures& failures);

// Everything, as one JSON object on one line.
std::string ProbeAll(const ProbeOptions& options);

}  // namespace stallhound::record
