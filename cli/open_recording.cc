#include "cli/open_recording.h"

#include <fmt/format.h>

#include <filesystem>
#include <utility>

#include "base/file.h"
#include "base/status_macros.h"
#include "capture/file/capture_file.h"
#include "capture/import/importer.h"
#include "capture/join/join_trace.h"
#include "capture/spool/format.h"
#include "capture/spool/reader.h"
#include "cli/exit_code.h"
#include "cli/home.h"

namespace stallhound::cli {
namespace {

namespace fs = std::filesystem;

// The spool files that `path` stands for; empty if it is something else.
absl::StatusOr<std::vector<std::string>> SpoolsOf(const std::string& path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) {
    const bool is_spool = fs::path(path).extension() == capture::spool::kFileSuffix || capture::IsSpool(path);
    return is_spool ? std::vector<std::string>{path} : std::vector<std::string>();
  }
  std::vector<std::string> files = SpoolFiles(path);
  if (files.empty()) {
    return absl::NotFoundError(
        fmt::format("reading the spools in '{}': it holds no *.spool file; nothing was recorded there", path));
  }
  return files;
}

absl::StatusOr<OpenedRecording> OpenForeignFile(const std::string& path) {
  SH_ASSIGN_OR_RETURN(capture::ForeignFiles foreign, capture::OpenForeign(path, {}));
  if (foreign.files.size() > 1) {
    return absl::InvalidArgumentError(
        fmt::format("reading '{}': it holds several recordings; unpack it and give one", path));
  }
  OpenedRecording opened;
  opened.reader = std::move(foreign.files.front().capture);
  opened.files = {path};
  return opened;
}

absl::StatusOr<OpenedRecording> OpenOne(const std::string& home, const std::string& text) {
  SH_ASSIGN_OR_RETURN(const std::string path, FindCapture(home, text));
  if (!capture::IsCaptureFile(path)) return OpenForeignFile(path);
  OpenedRecording opened;
  opened.files = {path};
  SH_ASSIGN_OR_RETURN(opened.reader, capture::OpenCaptureFile(path));
  return opened;
}

}  // namespace

absl::StatusOr<OpenedRecording> OpenRecording(const std::string& home, const std::vector<std::string>& paths) {
  OpenedRecording opened;
  if (paths.empty()) {
    SH_ASSIGN_OR_RETURN(const std::string newest, NewestCapture(home));
    return OpenOne(home, newest);
  }
  for (const std::string& path : paths) {
    SH_ASSIGN_OR_RETURN(const std::vector<std::string> spools, SpoolsOf(path));
    if (spools.empty() && paths.size() == 1) return OpenOne(home, path);
    if (spools.empty()) {
      return absl::InvalidArgumentError(
          fmt::format("reading '{}': several paths can be spools only, and this is none", path));
    }
    opened.spools.insert(opened.spools.end(), spools.begin(), spools.end());
  }
  opened.files = opened.spools;
  SH_ASSIGN_OR_RETURN(opened.reader, capture::OpenSpools(opened.spools));
  return opened;
}

absl::Status AddTrace(const std::string& path, OpenedRecording& opened) {
  if (opened.spools.empty()) {
    return absl::InvalidArgumentError(fmt::format(
        "joining '{}' with a recording: that is none of spools; --kineto goes with --from SPOOLS or a program", path));
  }
  SH_ASSIGN_OR_RETURN(OpenedRecording trace, OpenForeignFile(path));
  SH_ASSIGN_OR_RETURN(opened.reader, capture::JoinTrace(std::move(opened.reader), std::move(trace.reader)));
  opened.files.push_back(path);
  return absl::OkStatus();
}

absl::Status CheckNoSpool(const std::string& path, const std::string& attempt) {
  std::error_code error;
  const bool is_folder = fs::is_directory(path, error);
  if (!(is_folder ? !SpoolFiles(path).empty() : capture::IsSpool(path))) return absl::OkStatus();
  return absl::InvalidArgumentError(
      fmt::format("{} '{}': {} of our own recorder (hint: `stallhound hunt --from {}` makes its capture)", attempt,
                  path, is_folder ? "it is a folder of spools" : "it is a spool", path));
}

absl::Status CheckNotRead(const std::string& output, const OpenedRecording& opened) {
  for (const std::string& file : opened.files) {
    if (IsSameFile(output, file)) {
      return UsageError(fmt::format("--output: '{}' is what is read, and would be overwritten", output));
    }
  }
  return absl::OkStatus();
}

}  // namespace stallhound::cli
