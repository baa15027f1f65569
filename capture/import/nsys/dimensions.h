#pragma once

// Processes, threads, devices, streams and stacks of an export.

#include <absl/container/flat_hash_map.h>
#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "capture/import/nsys/database.h"
#include "capture/import/nsys/names.h"
#include "capture/import/nsys/survey.h"
#include "capture/reader.h"

namespace stallhound::capture::nsys {

// The GPUs of the machine. CUDA numbers devices per process (CUDA_VISIBLE_DEVICES), so device 0 of two processes need
// not be one GPU: device_id of all tables is Nsight's id of the GPU where the export tells it.
class Devices {
 public:
  static absl::StatusOr<Devices> Read(Database& database, const Survey& survey);

  uint32_t Id(uint32_t process_id, uint32_t ordinal) const;
  // Names of the GPUs in TARGET_INFO_GPU, each once; nullopt: no such table.
  const std::optional<std::vector<std::string>>& gpu_names() const { return gpu_names_; }
  int64_t gpu_count() const { return static_cast<int64_t>(gpus_.size()); }
  absl::Status Emit(const Survey& survey, StringTable& strings, CaptureVisitor& visitor) const;

 private:
  struct Gpu {
    uint32_t id = 0;
    std::optional<std::string> name;
    std::optional<int64_t> sm_count, memory_bytes, compute_major, compute_minor;
  };

  std::vector<Gpu> gpus_;
  std::optional<std::vector<std::string>> gpu_names_;
  absl::flat_hash_map<std::pair<int64_t, int64_t>, uint32_t> of_process_;  // (pid, ordinal)
  absl::flat_hash_map<int64_t, uint32_t> of_ordinal_;
};

// Fills the names of processes and threads in the survey. Of a process only the program's file name is read.
absl::Status ReadNames(Database& database, Names& names, Identities& identities);

// Rows of the tables process and thread; times relative to `zero_ns`.
absl::Status EmitIdentities(const Identities& identities, int64_t zero_ns, const TableSet& wanted,
                            CaptureVisitor& visitor);

absl::Status EmitStreams(Database& database, const Survey& survey, const Devices& devices, CaptureVisitor& visitor);

// Call chains of API calls (nsys --cudabacktrace) as frames and stacks; a stack's id is its callchainId. Holds all
// frames and 12 bytes a stack frame meanwhile.
absl::Status EmitCallchains(Database& database, Names& names, const TableSet& wanted, CaptureVisitor& visitor);
inline constexpr char kCallchainTable[] = "CUDA_CALLCHAINS";

}  // namespace stallhound::capture::nsys
