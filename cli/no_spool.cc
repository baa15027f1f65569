#include "cli/no_spool.h"

#include <absl/strings/str_split.h>
#include <absl/strings/strip.h>
#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>

#include "base/file.h"
#include "base/units.h"
#include "cli/elf_file.h"
#include "record/control/environment.h"

namespace stallhound::cli {
namespace {

using Sentence = std::optional<std::string>;

constexpr uint64_t kNeededBytes = 1 << 20;
constexpr int kMaxInterpreterDepth = 4;

// Programs that run another one where neither our variables nor our files reach.
constexpr std::array kElsewhere = {"docker", "podman", "nerdctl", "singularity", "apptainer", "enroot", "kubectl",
                                   "srun",   "mpirun", "mpiexec", "ssh",         "chroot",    "bwrap"};
constexpr std::array kClearing = {"sudo", "su", "doas", "runuser", "systemd-run"};

Sentence ToldNotToRecord() {
  const char* disabled = getenv(record::kDisable);
  if (disabled == nullptr || std::string_view(disabled) != "1") return std::nullopt;
  return fmt::format("{} is 1, so the recorder did nothing; unset it", record::kDisable);
}

Sentence RunsElsewhere(const std::string& program) {
  const std::string name = std::filesystem::path(program).filename();
  const auto is_name = [&](const char* known) { return name == known; };
  if (std::any_of(kElsewhere.begin(), kElsewhere.end(), is_name)) {
    return fmt::format(
        "{} starts the program where the variables, the recorder's path or the spool folder may not exist; run "
        "stallhound inside it, or pass on what `stallhound env` prints and mount both paths",
        name);
  }
  if (std::any_of(kClearing.begin(), kClearing.end(), is_name)) {
    return fmt::format("{0} clears the environment; run stallhound itself under it: {0} stallhound hunt -- ...", name);
  }
  return std::nullopt;
}

Sentence IsPrivileged(const std::string& file) {
  struct stat status {};
  if (stat(file.c_str(), &status) != 0) return std::nullopt;
  const bool sets_user = (status.st_mode & S_ISUID) != 0 && status.st_uid != geteuid();
  const bool sets_group = (status.st_mode & S_ISGID) != 0 && status.st_gid != getegid();
  if (sets_user || sets_group) {
    return fmt::format(
        "{} is set{}id: a program with raised rights loads no library named by a variable; run it as "
        "its owner",
        file, sets_user ? "u" : "g");
  }
  if (getxattr(file.c_str(), "security.capability", nullptr, 0) > 0) {
    return fmt::format(
        "{} has file capabilities: a program with raised rights loads no library named by a variable; "
        "remove them from a copy (setcap -r)",
        file);
  }
  return std::nullopt;
}

// A script's interpreter, "/usr/bin/env NAME" resolved; the file itself if it is none.
std::string RunningFile(std::string file) {
  for (int depth = 0; depth < kMaxInterpreterDepth; ++depth) {
    const absl::StatusOr<std::string> content = ReadFile(file);
    if (!content.ok() || content->substr(0, 2) != "#!") return file;
    const std::string line = content->substr(2, content->find('\n') - 2);
    const std::vector<std::string> words = absl::StrSplit(line, absl::ByAnyChar(" \t\r"), absl::SkipEmpty());
    if (words.empty()) return file;
    const bool is_env = std::filesystem::path(words[0]).filename() == "env" && words.size() > 1;
    const std::optional<std::string> found = FindInPath(is_env ? words.back() : words[0]);
    if (!found) return file;
    file = *found;
  }
  return file;
}

Sentence CannotTakeLibrary(const std::string& file, const std::string& recorder) {
  const absl::StatusOr<std::string> program_bytes = ReadFile(file);
  const absl::StatusOr<std::string> recorder_bytes = ReadFile(recorder);
  const std::optional<ElfFacts> program = program_bytes.ok() ? ParseElf(*program_bytes) : std::nullopt;
  if (!program) return std::nullopt;
  const std::optional<ElfFacts> library = recorder_bytes.ok() ? ParseElf(*recorder_bytes) : std::nullopt;
  if (library && (program->machine != library->machine || program->bits != library->bits)) {
    return fmt::format(
        "{} is built for {} ({} bits), the recorder for {} ({} bits): use the recorder of that "
        "architecture (STALLHOUND_RECORDER=PATH)",
        file, MachineName(program->machine), program->bits, MachineName(library->machine), library->bits);
  }
  if (!program->interpreter) {
    return fmt::format(
        "{} is linked statically and so can't load the CUDA driver or the recorder; link it dynamically "
        "(a static CUDA runtime alone is fine)",
        file);
  }
  if (program->interpreter->find("ld-musl") != std::string::npos) {
    return fmt::format("{} uses musl ({}); the recorder needs glibc", file, *program->interpreter);
  }
  return std::nullopt;
}

// dlopen's words, from a child process: nothing of the recorder stays in ours.
Sentence DoesNotLoad(const std::string& recorder) {
  int ends[2];
  if (pipe(ends) != 0) return std::nullopt;
  const pid_t child = fork();
  if (child == 0) {
    if (dlopen(recorder.c_str(), RTLD_NOW | RTLD_LOCAL) == nullptr) {
      const std::string_view words = dlerror();
      if (write(ends[1], words.data(), words.size()) < 0) _exit(2);
    }
    _exit(0);
  }
  close(ends[1]);
  std::string words(1024, '\0');
  const ssize_t count = read(ends[0], words.data(), words.size());
  close(ends[0]);
  if (child > 0) waitpid(child, nullptr, 0);
  if (count <= 0) return std::nullopt;
  words.resize(static_cast<size_t>(count));
  const bool is_glibc = words.find("GLIBC_") != std::string::npos;
  return fmt::format("the recorder does not load here: {}{}", words,
                     is_glibc ? "; this system's glibc is older than the recorder needs" : "");
}

Sentence RecorderIsUnreachable(const std::string& recorder) {
  if (access(recorder.c_str(), R_OK) != 0) return fmt::format("the recorder {} cannot be read", recorder);
  struct statvfs file_system {};
  if (statvfs(recorder.c_str(), &file_system) == 0 && (file_system.f_flag & ST_NOEXEC) != 0) {
    return fmt::format(
        "the recorder {} lies on a file system mounted noexec; copy it elsewhere and set "
        "STALLHOUND_RECORDER",
        recorder);
  }
  return DoesNotLoad(recorder);
}

Sentence SpoolFolderIsUnusable(const std::string& folder) {
  if (access(folder.c_str(), W_OK | X_OK) != 0) {
    return fmt::format("the spool folder {} cannot be written; set STALLHOUND_HOME to one that can", folder);
  }
  struct statvfs file_system {};
  if (statvfs(folder.c_str(), &file_system) != 0) return std::nullopt;
  const uint64_t free_bytes = uint64_t{file_system.f_bavail} * file_system.f_frsize;
  if (free_bytes >= kNeededBytes) return std::nullopt;
  return fmt::format("the spool folder {} has {} free: too little for a spool", folder, FormatBytes(free_bytes));
}

bool HasDriver() {
  // The loader's cache lists every library it finds by name; WSL's and a container's own paths may be outside of it.
  const absl::StatusOr<std::string> cache = ReadFile("/etc/ld.so.cache");
  if (cache.ok() && cache->find("libcuda.so.1") != std::string::npos) return true;
  std::vector<std::string> folders = {"/usr/lib/wsl/lib", "/usr/local/nvidia/lib64", "/usr/lib64"};
  if (const char* path = getenv("LD_LIBRARY_PATH"); path != nullptr) {
    const std::vector<std::string> added = absl::StrSplit(path, ':', absl::SkipEmpty());
    folders.insert(folders.end(), added.begin(), added.end());
  }
  return std::any_of(folders.begin(), folders.end(),
                     [](const std::string& folder) { return access((folder + "/libcuda.so.1").c_str(), R_OK) == 0; });
}

// Options that may have left out all that the program did, as given.
std::vector<std::string> Windows(const RecordingOptions& options) {
  std::vector<std::string> windows;
  if (!options.delay.empty()) windows.push_back("--delay " + options.delay);
  if (!options.duration.empty()) windows.push_back("--duration " + options.duration);
  if (!options.window_range.empty()) windows.push_back("--window-range " + options.window_range);
  if (!options.window_steps.empty()) windows.push_back("--window-steps " + options.window_steps);
  if (options.window_api) windows.push_back("--window-api");
  return windows;
}

std::string UsedNeither(const NoSpoolCase& run) {
  std::string text;
  if (run.end.signal) {
    text = fmt::format("the program was ended by signal {} before it used CUDA or NVTX", *run.end.signal);
  } else if (*run.end.exit_code != 0) {
    text = fmt::format("the program ended with code {} before it used CUDA or NVTX", *run.end.exit_code);
  } else {
    text = "the program used neither CUDA nor NVTX";
  }
  if (const std::vector<std::string> windows = Windows(run.recording); !windows.empty()) {
    text += fmt::format(", or only outside of what {} {} to be recorded", fmt::join(windows, " "),
                        windows.size() == 1 ? "allows" : "allow");
  }
  // Nothing from outside tells these apart.
  text += ", or it lost the recorder's variables on the way (env -i, sudo), or could not write its recording";
  if (!HasDriver()) {
    text += "; this machine has no CUDA driver (libcuda.so.1), so only NVTX could be recorded";
  }
  return text + " (`stallhound doctor` checks the machine)";
}

}  // namespace

std::vector<std::string> ExplainNoSpool(const NoSpoolCase& run) {
  const std::string program = FindInPath(run.argv[0]).value_or(run.argv[0]);
  const std::string file = RunningFile(program);
  std::vector<std::string> sentences;
  for (Sentence& sentence : std::array{
           ToldNotToRecord(),
           RunsElsewhere(program),
           IsPrivileged(file),
           CannotTakeLibrary(file, run.recorder),
           RecorderIsUnreachable(run.recorder),
           SpoolFolderIsUnusable(run.spool_folder),
       }) {
    if (sentence) sentences.push_back(*std::move(sentence));
  }
  if (sentences.empty()) sentences.push_back(UsedNeither(run));
  return sentences;
}

}  // namespace stallhound::cli
