#include "cli/home.h"

#include <absl/strings/ascii.h>
#include <absl/strings/numbers.h>
#include <fmt/format.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <set>
#include <utility>

#include "base/clock.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "capture/file/capture_file.h"
#include "capture/spool/format.h"
#include "cli/exit_code.h"

namespace stallhound::cli {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMinimumUuidPrefix = 4;
constexpr size_t kDateLength = 15;  // 20261130-044737

std::string CompactUtc(int64_t realtime_ns) {
  std::string date;
  for (const char c : FormatUtc(realtime_ns)) {
    if (c == ' ') date += '-';
    if (c >= '0' && c <= '9') date += c;
  }
  return date;
}

bool IsAlive(std::string_view pid_text) {
  int64_t pid = 0;
  if (!absl::SimpleAtoi(absl::string_view(pid_text.data(), pid_text.size()), &pid) || pid <= 0) return false;
  return kill(static_cast<pid_t>(pid), 0) == 0 || errno == EPERM;
}

// "stallhound-<pid>-<random>.spool".
bool IsLiveSpool(const std::string& path) {
  const std::string name = fs::path(path).filename();
  const size_t begin = name.find('-');
  const size_t end = begin == std::string::npos ? begin : name.find('-', begin + 1);
  return end != std::string::npos && IsAlive(std::string_view(name).substr(begin + 1, end - begin - 1));
}

// "20261130-044737-<id>".
bool IsDatedName(std::string_view name) {
  if (name.size() <= kDateLength + 1) return false;
  for (size_t i = 0; i < name.size(); ++i) {
    const bool is_dash = i == 8 || i == kDateLength;
    const bool is_digit = absl::ascii_isdigit(static_cast<unsigned char>(name[i]));
    const bool is_id = absl::ascii_isalnum(static_cast<unsigned char>(name[i])) || name[i] == '-';
    if (is_dash ? name[i] != '-' : i < kDateLength ? !is_digit : !is_id) return false;
  }
  return true;
}

bool IsRegularFile(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(fs::symlink_status(path, error));
}

std::optional<Recording> StatRecording(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) return std::nullopt;
  Recording recording;
  recording.path = path;
  recording.bytes = static_cast<uint64_t>(status.st_size);
  recording.date_ns = recording.modified_ns = status.st_mtim.tv_sec * int64_t{1'000'000'000} + status.st_mtim.tv_nsec;
  return recording;
}

std::optional<Recording> CaptureAt(const fs::path& path, std::string_view uuid_prefix) {
  const std::string stem = path.stem();
  if (path.extension() != capture::kCaptureFileSuffix || !IsDatedName(stem) ||
      !stem.substr(kDateLength + 1).starts_with(uuid_prefix) || !IsRegularFile(path)) {
    return std::nullopt;
  }
  std::optional<Recording> recording = StatRecording(path);
  if (!recording) return std::nullopt;
  recording->uuid = stem.substr(kDateLength + 1);
  const absl::StatusOr<std::optional<int64_t>> start_ns = capture::CaptureStart(path);
  if (start_ns.ok() && *start_ns) recording->date_ns = **start_ns;
  return recording;
}

std::optional<Recording> SpoolsAt(const fs::path& folder) {
  std::error_code error;
  if (!fs::is_directory(fs::symlink_status(folder, error)) || !IsDatedName(folder.filename().string())) {
    return std::nullopt;
  }
  std::optional<Recording> recording = StatRecording(folder);
  if (!recording) return std::nullopt;
  recording->is_spool = true;
  recording->bytes = 0;
  for (const std::string& file : SpoolFiles(folder)) {
    const std::optional<Recording> spool = StatRecording(file);
    if (!spool) continue;
    recording->bytes += spool->bytes;
    recording->modified_ns = std::max(recording->modified_ns, spool->modified_ns);
    recording->date_ns = recording->modified_ns;
    recording->is_live = recording->is_live || IsLiveSpool(file);
  }
  return recording;
}

std::vector<fs::path> Entries(const fs::path& folder) {
  std::vector<fs::path> entries;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    entries.push_back(it->path());
  }
  std::sort(entries.begin(), entries.end());
  return entries;
}

// A home that cannot be used is the machine's, whatever errno it is: not a folder, read-only, no permission.
absl::Status HomeError(std::string_view action, const std::string& home, std::string_view cause) {
  return EnvironmentError(
      fmt::format("{} the home '{}': {} (hint: STALLHOUND_HOME names another folder)", action, home, cause));
}

absl::Status MakeHome(const std::string& home) {
  if (const absl::Status made = MakeFolders(home); !made.ok()) {
    return HomeError("making", home, std::string(made.message()));
  }
  if (access(home.c_str(), W_OK | X_OK) == 0) return absl::OkStatus();
  return HomeError("writing into", home, strerror(errno));
}

}  // namespace

std::string HomeFolder() {
  const char* home = getenv("STALLHOUND_HOME");
  const std::string path = home != nullptr && *home != '\0' ? home : ".stallhound";
  std::error_code error;
  const fs::path absolute = fs::absolute(path, error);
  return error ? path : absolute.lexically_normal().string();
}

std::string HistoryPath(const std::string& home) { return home + "/history.db"; }

absl::StatusOr<std::string> NewSpoolFolder(const std::string& home, int64_t realtime_ns) {
  SH_RETURN_IF_ERROR(MakeHome(home));
  if (const absl::Status made = MakeFolders(home + "/spool", 0700); !made.ok()) {
    return HomeError("writing into", home, std::string(made.message()));
  }
  std::string folder = fmt::format("{}/spool/{}-XXXXXX", home, CompactUtc(realtime_ns));
  if (mkdtemp(folder.data()) == nullptr) {
    return HomeError("writing into", home, fmt::format("making the spool folder '{}': {}", folder, strerror(errno)));
  }
  return folder;
}

absl::StatusOr<std::string> NewCapturePath(const std::string& home, std::string_view uuid, int64_t realtime_ns) {
  SH_RETURN_IF_ERROR(MakeHome(home));
  return fmt::format("{}/{}-{}{}", home, CompactUtc(realtime_ns), uuid, capture::kCaptureFileSuffix);
}

absl::StatusOr<std::string> NewUuid() {
  unsigned char bytes[16];
  if (getrandom(bytes, sizeof bytes, 0) != static_cast<ssize_t>(sizeof bytes)) {
    return EnvironmentError(fmt::format("drawing a random id: {}", strerror(errno)));
  }
  std::string uuid;
  for (const unsigned char byte : bytes) uuid += fmt::format("{:02x}", byte);
  return uuid;
}

absl::StatusOr<std::string> MachineName(const std::string& home) {
  const char* label = getenv("STALLHOUND_MACHINE");
  if (label != nullptr && *label != '\0') return label;
  const std::string path = home + "/machine";
  if (const absl::StatusOr<std::string> text = ReadFile(path); text.ok()) {
    const std::string name(absl::StripAsciiWhitespace(text->substr(0, text->find('\n'))));
    if (!name.empty()) return name;
  }
  SH_RETURN_IF_ERROR(MakeHome(home));
  SH_ASSIGN_OR_RETURN(std::string name, NewUuid());
  if (const absl::Status written = WriteFileAtomically(path, name + "\n"); !written.ok()) {
    return HomeError("writing into", home, std::string(written.message()));
  }
  return name;
}

absl::StatusOr<std::vector<Recording>> ListRecordings(const std::string& home, std::string_view uuid_prefix) {
  std::error_code error;
  const fs::directory_iterator first(home, error);
  if (error && error != std::errc::no_such_file_or_directory) return HomeError("reading", home, error.message());
  std::vector<Recording> recordings;
  for (const fs::path& path : Entries(home)) {
    if (std::optional<Recording> capture = CaptureAt(path, uuid_prefix)) recordings.push_back(*std::move(capture));
  }
  if (uuid_prefix.empty()) {
    for (const fs::path& folder : Entries(home + "/spool")) {
      if (std::optional<Recording> spools = SpoolsAt(folder)) recordings.push_back(*std::move(spools));
    }
  }
  std::stable_sort(recordings.begin(), recordings.end(), [](const Recording& a, const Recording& b) {
    return std::pair(a.date_ns, a.modified_ns) > std::pair(b.date_ns, b.modified_ns);
  });
  return recordings;
}

std::vector<Recording> ListRemnants(const std::string& home) {
  std::vector<Recording> remnants;
  for (const fs::path& path : Entries(home)) {
    // "<capture>.<pid>.tmp"
    const fs::path with_pid = path.stem();
    const fs::path capture = with_pid.stem();
    const bool is_ours = path.extension() == ".tmp" && with_pid.has_extension() &&
                         IsDatedName(capture.stem().string()) && capture.extension() == capture::kCaptureFileSuffix &&
                         IsRegularFile(path);
    if (!is_ours || IsAlive(with_pid.extension().string().substr(1))) continue;
    if (std::optional<Recording> remnant = StatRecording(path)) remnants.push_back(*std::move(remnant));
  }
  return remnants;
}

bool HasLiveSpool(const std::string& folder) {
  const std::vector<std::string> files = SpoolFiles(folder);
  return std::any_of(files.begin(), files.end(), IsLiveSpool);
}

std::vector<std::string> SpoolFiles(const std::string& folder) {
  std::vector<std::string> files;
  for (const fs::path& path : Entries(folder)) {
    if (path.extension() == capture::spool::kFileSuffix) files.push_back(path);
  }
  return files;
}

absl::StatusOr<std::string> FindCapture(const std::string& home, const std::string& text) {
  std::error_code error;
  if (fs::exists(text, error)) return text;
  if (error == std::errc::permission_denied) {
    return absl::PermissionDeniedError(fmt::format("finding the capture '{}': {}", text, error.message()));
  }
  SH_ASSIGN_OR_RETURN(std::vector<Recording> matches, ListRecordings(home, text));
  if (text.size() < kMinimumUuidPrefix) matches.clear();
  std::set<std::string_view> uuids;
  for (const Recording& match : matches) uuids.insert(match.uuid);
  if (uuids.size() == 1) return matches.front().path;
  if (matches.empty()) {
    return absl::NotFoundError(fmt::format(
        "finding the capture '{}': neither a file nor the beginning of a uuid in {} (`stallhound captures` lists them)",
        text, home));
  }
  return absl::InvalidArgumentError(fmt::format(
      "finding the capture '{}': {} uuids in {} begin so; give more of the uuid", text, uuids.size(), home));
}

absl::StatusOr<std::string> NewestCapture(const std::string& home) {
  SH_ASSIGN_OR_RETURN(const std::vector<Recording> recordings, ListRecordings(home));
  for (const Recording& recording : recordings) {
    if (!recording.is_spool) return recording.path;
  }
  return absl::NotFoundError(
      fmt::format("finding the newest capture: {} has none (`stallhound hunt -- COMMAND` makes one)", home));
}

}  // namespace stallhound::cli
