#include "cli/exit_code.h"

#include <absl/strings/cord.h>

namespace stallhound::cli {
namespace {

constexpr char kUsageUrl[] = "stallhound/usage";
constexpr char kEnvironmentUrl[] = "stallhound/environment";

absl::Status Marked(absl::StatusCode code, std::string_view message, const char* url) {
  absl::Status status(code, absl::string_view(message.data(), message.size()));
  status.SetPayload(url, absl::Cord());
  return status;
}

}  // namespace

absl::Status UsageError(std::string_view message) {
  return Marked(absl::StatusCode::kInvalidArgument, message, kUsageUrl);
}

absl::Status EnvironmentError(std::string_view message) {
  return Marked(absl::StatusCode::kFailedPrecondition, message, kEnvironmentUrl);
}

int ExitCodeOf(const absl::Status& status) {
  if (status.ok()) return kExitFine;
  if (status.GetPayload(kUsageUrl)) return kExitUsage;
  if (status.GetPayload(kEnvironmentUrl)) return kExitEnvironment;
  switch (status.code()) {
    case absl::StatusCode::kPermissionDenied:
    case absl::StatusCode::kUnauthenticated:
    case absl::StatusCode::kResourceExhausted:
    case absl::StatusCode::kUnavailable:
      return kExitEnvironment;
    case absl::StatusCode::kInternal:
    case absl::StatusCode::kUnknown:
      return kExitInternal;
    default:
      return kExitData;
  }
}

}  // namespace stallhound::cli
