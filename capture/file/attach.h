#pragma once

// What a file must be before SQLite opens it as a capture, and what a capture must say of itself: the same for the
// reader and for queries.

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <sqlite3.h>

#include <string>

namespace stallhound::capture {

// A `file:` URI of `path`, what would end it escaped; "?mode=..." may follow.
std::string FileUri(const std::string& path);

// A `file:` URI (SQLITE_OPEN_URI) that opens `path` read-only and leaves no file beside it. Errors: NotFound,
// PermissionDenied; FailedPrecondition: not a regular file, or SQLite keeps changes to it in another file.
absl::StatusOr<std::string> CaptureUri(const std::string& path);

// Checks what is attached as `schema` ("main", "c1"). `path` is for messages. Errors: InvalidArgument (no SQLite file,
// no capture), FailedPrecondition (written by a newer version).
absl::Status CheckCapture(sqlite3* connection, const std::string& schema, const std::string& path);

}  // namespace stallhound::capture
