#pragma once

// The folder that recordings live in, and what is in it:
//   <home>/<utc date>-<uuid>.stallhound     captures
//   <home>/spool/<utc date>-<random>/       spools of one run, until they have become a capture
//   <home>/history.db                       the history of benchmark runs (store/history.h)
//   <home>/machine                          what the history calls this machine
//   <home>/builds/<hash>/                   benchmark programs that were measured (nightly/kept_builds.h)
//   <home>/nightly/<utc time>-<uuid>/       reports of nightly runs

#include <absl/status/statusor.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stallhound::cli {

// $STALLHOUND_HOME, else ./.stallhound, made absolute: recorded programs may change their folder.
std::string HomeFolder();

// The history in `home`, whether it is there or not.
std::string HistoryPath(const std::string& home);

// Makes a new spool folder of mode 0700 (and the home if need be). Errors: the environment's.
absl::StatusOr<std::string> NewSpoolFolder(const std::string& home, int64_t realtime_ns);

// Where a capture of this uuid is to be written. Makes the home if need be. Errors: the environment's.
absl::StatusOr<std::string> NewCapturePath(const std::string& home, std::string_view uuid, int64_t realtime_ns);

// What the history calls this machine: $STALLHOUND_MACHINE, else the first line of <home>/machine, where a random id is
// put at first use. Never a host name. Errors: the environment's.
absl::StatusOr<std::string> MachineName(const std::string& home);

// 32 random hex digits. Errors: the environment's.
absl::StatusOr<std::string> NewUuid();

// A capture, or spools that no capture was made of.
struct Recording {
  std::string path;
  std::string uuid;  // captures only
  bool is_spool = false;
  bool is_live = false;  // a spool whose process still runs
  uint64_t bytes = 0;
  int64_t modified_ns = 0;  // CLOCK_REALTIME
  int64_t date_ns = 0;      // CLOCK_REALTIME, when it was recorded; modified_ns if that is not known, as of spools
};

// What bears our names and is no link, newest recording first, of one date the newest file; ties by path. A home that
// does not exist is empty. With a `uuid_prefix` only captures whose uuid begins so. Opens each capture that it lists.
// Errors: the environment's, if the home cannot be read.
absl::StatusOr<std::vector<Recording>> ListRecordings(const std::string& home, std::string_view uuid_prefix = {});

// Captures half written by processes that are gone.
std::vector<Recording> ListRemnants(const std::string& home);

// Whether a process still writes one of SpoolFiles.
bool HasLiveSpool(const std::string& folder);

// Spool files (*.spool) below `folder`, sorted.
std::vector<std::string> SpoolFiles(const std::string& folder);

// The capture that `text` names: a path, or the first characters (4 at least) of a uuid in the home. A trace that was
// imported twice has one uuid, its content's: the newest is meant. Errors: NotFound, InvalidArgument (several begin
// so), PermissionDenied (of a folder on the path).
absl::StatusOr<std::string> FindCapture(const std::string& home, const std::string& text);

// The home's newest capture. Errors: NotFound, with what to do.
absl::StatusOr<std::string> NewestCapture(const std::string& home);

}  // namespace stallhound::cli
