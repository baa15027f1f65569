#include "cli/install_paths.h"

#include <absl/strings/str_join.h>
#include <fmt/format.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <string_view>
#include <vector>

#include "cli/exit_code.h"

namespace stallhound::cli {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> Candidates(std::string_view name, std::string_view folder_in_package,
                                    std::string_view folder_in_tree) {
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  const fs::path here = self.parent_path();
  return {
      (here / name).string(),
      (here.parent_path() / folder_in_package / name).string(),
      (here.parent_path() / folder_in_tree / name).string(),
      (fs::path(self.string() + ".runfiles") / "stallhound" / folder_in_tree / name).string(),
  };
}

absl::StatusOr<std::string> FirstReadable(std::string_view what, const std::vector<std::string>& candidates) {
  for (const std::string& candidate : candidates) {
    if (access(candidate.c_str(), R_OK) == 0) return candidate;
  }
  return EnvironmentError(
      fmt::format("finding the {}: none of these can be read: {}", what, absl::StrJoin(candidates, ", ")));
}

}  // namespace

absl::StatusOr<std::string> FindRecorder() {
  const char* given = getenv("STALLHOUND_RECORDER");
  if (given == nullptr || *given == '\0') {
    return FirstReadable("recorder", Candidates("libstallhound_record.so", "lib", "record"));
  }
  if (access(given, R_OK) != 0) {
    return EnvironmentError(
        fmt::format("finding the recorder: STALLHOUND_RECORDER is '{}', which cannot be read", given));
  }
  return fs::absolute(given).string();
}

absl::StatusOr<std::string> FindOperatorsHook() {
  const absl::StatusOr<std::string> file =
      FirstReadable("start-up hook for Python", Candidates("operators/sitecustomize.py", "share", "python"));
  return file.ok() ? fs::path(*file).parent_path().string() : file;
}

absl::StatusOr<std::string> FindProbe() {
  return FirstReadable("probe", Candidates("stallhound_probe", "bin", "record/probe"));
}

}  // namespace stallhound::cli
