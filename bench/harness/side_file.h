#pragma once

// The raw samples, which have no place in Google Benchmark's JSON: one JSON object a line for each case, in the order
// of the run. Its fields are in bench/README.md.

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/file.h"
#include "bench/harness/case_result.h"

namespace stallhound::bench {

// Not thread-safe. Nothing is at the path before Finish.
class SideFile {
 public:
  static absl::StatusOr<SideFile> Create(const std::string& path);

  absl::Status Add(const std::string& id, const CaseResult& result);
  absl::Status AddError(const std::string& id, const absl::Status& error);
  // Call once, last.
  absl::Status Finish() { return file_.Commit(); }

 private:
  explicit SideFile(AtomicFile file) : file_(std::move(file)) {}

  AtomicFile file_;
};

// The words of base/nvml for these bits: "sw-power-cap".
std::vector<std::string> ThrottleWords(uint64_t reasons);

}  // namespace stallhound::bench
