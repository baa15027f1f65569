#pragma once

// Benchmark programs that were measured, kept so that a baseline can be measured again beside a new run:
//   <home>/builds/<16 digits of its SHA-256>/bench   the program
//   <home>/builds/<16 digits of its SHA-256>/runs    uuids of the runs that it measured, one a line
// What it loads (LibTorch) is not kept: it is the machine's, and part of the comparability key.

#include <absl/status/statusor.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stallhound::cli {

// Shared by those who measure with a build; RemoveBuild leaves what anybody holds, also of another process. Ends with
// the process.
class BuildInUse {
 public:
  // Waits for who is removing it. nullptr: the folder is not there, or no longer.
  static std::shared_ptr<const BuildInUse> Take(const std::string& folder);
  BuildInUse(const BuildInUse&) = delete;
  ~BuildInUse();

 private:
  explicit BuildInUse(int folder) : folder_(folder) {}
  int folder_;  // a file descriptor
};

struct KeptBuild {
  std::string folder;
  std::string binary;  // its path
  std::vector<std::string> run_uuids;
  uint64_t bytes = 0;
  int64_t modified_ns = 0;                   // CLOCK_REALTIME, when the last run was added
  std::shared_ptr<const BuildInUse> in_use;  // of KeepBuild alone
};

// Copies the program, unless it is there already, and keeps others from removing it while `in_use` lives. Measure the
// copy: the original may be built anew meanwhile. Errors: those of CheckProgram for the copy that is there; what
// reading and writing give.
absl::StatusOr<KeptBuild> KeepBuild(const std::string& home, const std::string& binary);

// Whether the file is still what was kept. Errors: DataLoss if not; what reading gives.
absl::Status CheckProgram(const KeptBuild& build);

// Notes on disk that the program measured this run, beside what other processes note of it meanwhile; `build` stays as
// it was read. Errors: what writing gives.
absl::Status AddRun(const KeptBuild& build, std::string_view run_uuid);

// Sorted by folder. What bears other names, or is a link, is left out; without any, empty.
std::vector<KeptBuild> ListBuilds(const std::string& home);

// The program that measured the run; nullopt if it is not kept. Errors: those of CheckProgram.
absl::StatusOr<std::optional<KeptBuild>> FindBuildOfRun(const std::string& home, std::string_view run_uuid);

// Whether one program is known to have measured both runs.
bool AreOfOneBuild(const std::string& home, std::string_view run_uuid, std::string_view other_uuid);

// Whether somebody measures with it just now.
bool IsInUse(const KeptBuild& build);

// Removes the two files and their folder. False: it is in use, and stays. Errors: what removing gives; a folder that
// holds more stays.
absl::StatusOr<bool> RemoveBuild(const KeptBuild& build);

// Ends the use of KeepBuild's program, and removes it if no run is noted and nobody else uses it. Errors: those of
// RemoveBuild.
absl::Status DropIfUnused(KeptBuild& build);

}  // namespace stallhound::cli
