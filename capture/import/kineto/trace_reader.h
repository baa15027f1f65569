#pragma once

// A Kineto trace from its bytes: cut, parsed, joined (capture/import/kineto.h has the contract).

#include <absl/status/statusor.h>

#include <memory>
#include <string>
#include <string_view>

#include "capture/import/importer.h"

namespace stallhound::capture {

struct TraceOrigin {
  std::string path;       // for messages
  std::string_view head;  // first bytes of the content, from which the recording's id follows
  bool partial = false;   // a cut is an end, and counted
};

absl::StatusOr<std::unique_ptr<ImportedCapture>> OpenTrace(std::unique_ptr<ByteStream> stream,
                                                           const TraceOrigin& origin);

}  // namespace stallhound::capture
