#pragma once

// A folder for what a process of the bench leaves.

#include <absl/status/statusor.h>

#include <string>
#include <utility>

namespace stallhound::cli {

// Removed with the object. One whose process was killed is removed by the next Create, a minute later or more: a lock
// on it says that its process lives, in another container too.
class ScratchFolder {
 public:
  // In $TMPDIR, else /tmp. Errors: the environment's.
  static absl::StatusOr<ScratchFolder> Create();
  ScratchFolder(ScratchFolder&& other) noexcept;
  ScratchFolder& operator=(ScratchFolder&&) = delete;
  ~ScratchFolder();

  std::string File(const char* name) const { return path_ + "/" + name; }

 private:
  ScratchFolder(std::string path, int lock) : path_(std::move(path)), lock_(lock) {}

  std::string path_;  // empty: moved from
  int lock_;          // the folder, open
};

}  // namespace stallhound::cli
