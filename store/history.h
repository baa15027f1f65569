#pragma once

// The history: one small database that is kept for ever. Opening, and adding to it. Nothing is ever changed or deleted.

#include <absl/status/statusor.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "store/reader.h"
#include "store/run.h"

namespace stallhound::store {

enum class AppendResult : uint8_t { kAppended, kAlreadyThere };

// Every Append is one transaction: when it returns kAppended, the rows survive the death of the process and of the
// machine; after an error or a death before that, none of them is there. What carries a uuid may be appended again:
// kAlreadyThere, nothing changed. The same uuid with other content is AlreadyExists. Errors also: InvalidArgument (not
// finite, a metric whose unit differs from the one stored, a list that names one thing twice), NotFound (a run named by
// uuid), Unavailable (another process holds the database longer than the lock timeout), ResourceExhausted (disk full),
// PermissionDenied.
class History : public HistoryReader {
 public:
  virtual absl::StatusOr<AppendResult> AppendRun(const RunRecord& run) = 0;
  virtual absl::StatusOr<AppendResult> AppendJudgement(const Judgement& judgement) = 0;
  virtual absl::StatusOr<AppendResult> AppendAcknowledgement(const Acknowledgement& acknowledgement) = 0;
  // From now on the baseline of that name.
  virtual absl::Status SetBaseline(const Baseline& baseline) = 0;

  // Sentences to be shown to the user: a file system whose locks may not hold.
  virtual const std::vector<std::string>& warnings() const = 0;
};

enum class Access : uint8_t {
  kRead,    // the file must exist; a schema older than this program's is refused
  kAppend,  // makes the folder, the file and the schema as needed
};

struct OpenOptions {
  Access access = Access::kAppend;
  int lock_timeout_ms = 10'000;  // how long to try while another process writes
};

// An SQLite history. Errors: FailedPrecondition (schema of a newer stallhound, or a migration that differs from the one
// that was applied; a network file system, for kAppend), InvalidArgument (not a database, or not a history), NotFound,
// PermissionDenied, Unavailable, ResourceExhausted, DataLoss. The file is then as it was.
absl::StatusOr<std::unique_ptr<History>> OpenHistory(const std::string& path, const OpenOptions& options);

}  // namespace stallhound::store
