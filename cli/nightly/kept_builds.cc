#include "cli/nightly/kept_builds.h"

#include <absl/strings/ascii.h>
#include <absl/strings/str_split.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <utility>

#include "base/file.h"
#include "base/sha256.h"
#include "base/status_macros.h"

namespace stallhound::cli {
namespace {

namespace fs = std::filesystem;

constexpr size_t kNameDigits = 16;
constexpr int kKeepTries = 3;  // each is lost only to somebody who removes it just then
constexpr char kBinary[] = "bench";
constexpr char kRuns[] = "runs";

std::string BuildsFolder(const std::string& home) { return home + "/builds"; }

std::string NameOf(std::string_view program) { return Sha256(program).substr(0, kNameDigits); }

bool IsBuildName(std::string_view name) {
  return name.size() == kNameDigits && std::all_of(name.begin(), name.end(), [](char c) {
           return absl::ascii_isxdigit(static_cast<unsigned char>(c)) &&
                  !absl::ascii_isupper(static_cast<unsigned char>(c));
         });
}

std::string RunsPath(const std::string& folder) { return folder + "/" + kRuns; }

bool Contains(const std::vector<std::string>& uuids, std::string_view uuid) {
  return std::find(uuids.begin(), uuids.end(), uuid) != uuids.end();
}

// One write at the end of what is there by then: runs of the same program may overlap.
absl::Status AppendToRuns(const std::string& folder, std::string_view line) {
  const std::string path = RunsPath(folder);
  const int file = open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666);
  if (file < 0) return absl::ErrnoToStatus(errno, fmt::format("opening '{}'", path));
  const ssize_t count = write(file, line.data(), line.size());
  const int error = count < 0 ? errno : ENOSPC;
  close(file);
  if (count == static_cast<ssize_t>(line.size())) return absl::OkStatus();
  return absl::ErrnoToStatus(error, fmt::format("adding a run to '{}'", path));
}

int OpenFolder(const std::string& path) { return open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC); }

absl::Status WriteBuild(const std::string& folder, const std::string& program) {
  const std::string copy = folder + "/" + kBinary;
  SH_RETURN_IF_ERROR(WriteFileAtomically(copy, program));
  if (chmod(copy.c_str(), 0755) != 0) return absl::ErrnoToStatus(errno, fmt::format("making '{}' executable", copy));
  return AppendToRuns(folder, "");
}

absl::Status Gone(const std::string& binary, const std::string& folder) {
  return absl::UnavailableError(fmt::format("keeping the program '{}' in '{}': it is gone again", binary, folder));
}

std::optional<KeptBuild> BuildAt(const fs::path& folder) {
  KeptBuild build;
  build.folder = folder;
  build.binary = folder / kBinary;
  struct stat folder_status {
  }, binary_status{}, runs_status{};
  const std::string runs = RunsPath(folder);
  if (!IsBuildName(folder.filename().string()) || lstat(folder.c_str(), &folder_status) != 0 ||
      !S_ISDIR(folder_status.st_mode) || lstat(build.binary.c_str(), &binary_status) != 0 ||
      !S_ISREG(binary_status.st_mode) || lstat(runs.c_str(), &runs_status) != 0 || !S_ISREG(runs_status.st_mode)) {
    return std::nullopt;
  }
  const absl::StatusOr<std::string> text = ReadFile(runs);
  if (!text.ok()) return std::nullopt;
  const std::vector<std::string> uuids = absl::StrSplit(*text, '\n', absl::SkipEmpty());
  for (const std::string& uuid : uuids) {
    if (!Contains(build.run_uuids, uuid)) build.run_uuids.push_back(uuid);
  }
  build.bytes = static_cast<uint64_t>(binary_status.st_size + runs_status.st_size);
  build.modified_ns = runs_status.st_mtim.tv_sec * int64_t{1'000'000'000} + runs_status.st_mtim.tv_nsec;
  return build;
}

// Removes it if nobody uses it and, where asked for, no run is noted. False: it stays.
absl::StatusOr<bool> RemoveLocked(const KeptBuild& build, bool only_without_runs) {
  const int folder = OpenFolder(build.folder);
  if (folder < 0 && errno == ENOENT) return true;
  if (folder < 0) return absl::ErrnoToStatus(errno, fmt::format("removing '{}'", build.folder));
  // Held until all is gone, so that nobody begins to use a half.
  const bool is_in_use = flock(folder, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  const std::optional<KeptBuild> now = only_without_runs ? BuildAt(build.folder) : std::nullopt;
  const bool stays = is_in_use || (now && !now->run_uuids.empty());
  absl::Status removed;
  for (const std::string& path : {build.binary, RunsPath(build.folder), build.folder}) {
    if (stays || !removed.ok()) break;
    if (std::remove(path.c_str()) != 0 && errno != ENOENT) {
      removed = absl::ErrnoToStatus(errno, fmt::format("removing '{}'", path));
    }
  }
  close(folder);
  if (!removed.ok()) return removed;
  return !stays;
}

}  // namespace

std::shared_ptr<const BuildInUse> BuildInUse::Take(const std::string& folder) {
  const int opened = OpenFolder(folder);
  if (opened < 0) return nullptr;
  std::shared_ptr<const BuildInUse> in_use(new BuildInUse(opened));
  // A file system without locks leaves nothing to be done: then prune sees no use either.
  while (flock(opened, LOCK_SH) != 0 && errno == EINTR) {
  }
  struct stat locked {
  }, there{};
  const bool is_there = fstat(opened, &locked) == 0 && lstat(folder.c_str(), &there) == 0 &&
                        locked.st_ino == there.st_ino && locked.st_dev == there.st_dev;
  return is_there ? in_use : nullptr;
}

BuildInUse::~BuildInUse() { close(folder_); }

absl::Status CheckProgram(const KeptBuild& build) {
  SH_ASSIGN_OR_RETURN(const std::string program, ReadFile(build.binary));
  const std::string name = NameOf(program);
  if (name == fs::path(build.folder).filename()) return absl::OkStatus();
  return absl::DataLossError(
      fmt::format("reading the kept program '{}': it is not the one that was kept, its SHA-256 begins with {} (hint: "
                  "remove the folder '{}'; the next run of that program keeps it anew)",
                  build.binary, name, build.folder));
}

absl::StatusOr<KeptBuild> KeepBuild(const std::string& home, const std::string& binary) {
  SH_ASSIGN_OR_RETURN(const std::string program, ReadFile(binary));
  const std::string folder = BuildsFolder(home) + "/" + NameOf(program);
  std::shared_ptr<const BuildInUse> in_use;
  for (int i = 0; i < kKeepTries && !in_use; ++i) {
    SH_RETURN_IF_ERROR(MakeFolders(folder));
    in_use = BuildInUse::Take(folder);
  }
  if (!in_use) return Gone(binary, folder);
  std::optional<KeptBuild> build = BuildAt(folder);
  if (build) {
    SH_RETURN_IF_ERROR(CheckProgram(*build));
  } else {
    SH_RETURN_IF_ERROR(WriteBuild(folder, program));
    build = BuildAt(folder);
    if (!build) return Gone(binary, folder);
  }
  build->in_use = std::move(in_use);
  return *std::move(build);
}

absl::Status AddRun(const KeptBuild& build, std::string_view run_uuid) {
  return AppendToRuns(build.folder, fmt::format("{}\n", run_uuid));
}

std::vector<KeptBuild> ListBuilds(const std::string& home) {
  std::vector<KeptBuild> builds;
  std::error_code error;
  for (fs::directory_iterator it(BuildsFolder(home), error), end; !error && it != end; it.increment(error)) {
    if (std::optional<KeptBuild> build = BuildAt(it->path())) builds.push_back(*std::move(build));
  }
  std::sort(builds.begin(), builds.end(), [](const KeptBuild& a, const KeptBuild& b) { return a.folder < b.folder; });
  return builds;
}

absl::StatusOr<std::optional<KeptBuild>> FindBuildOfRun(const std::string& home, std::string_view run_uuid) {
  for (KeptBuild& build : ListBuilds(home)) {
    if (!Contains(build.run_uuids, run_uuid)) continue;
    SH_RETURN_IF_ERROR(CheckProgram(build));
    return std::move(build);
  }
  return std::optional<KeptBuild>();
}

bool AreOfOneBuild(const std::string& home, std::string_view run_uuid, std::string_view other_uuid) {
  const absl::StatusOr<std::optional<KeptBuild>> build = FindBuildOfRun(home, run_uuid);
  if (!build.ok() || !build->has_value()) return false;
  return Contains((*build)->run_uuids, other_uuid);
}

bool IsInUse(const KeptBuild& build) {
  const int folder = OpenFolder(build.folder);
  if (folder < 0) return false;
  const bool is_in_use = flock(folder, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  close(folder);
  return is_in_use;
}

absl::StatusOr<bool> RemoveBuild(const KeptBuild& build) { return RemoveLocked(build, false); }

absl::Status DropIfUnused(KeptBuild& build) {
  build.in_use.reset();
  return RemoveLocked(build, true).status();
}

}  // namespace stallhound::cli
