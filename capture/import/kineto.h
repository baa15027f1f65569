#pragma once

// PyTorch Kineto traces (torch.profiler) and other Chrome trace JSON with Kineto's categories, of all generations:
// integer microseconds since the epoch, floats since the epoch, decimals relative to baseTimeNanoseconds; objects and
// bare lists; what no JSON parser accepts is forgiven and counted. Source of the format: pytorch/kineto,
// libkineto/src/output_json.cpp.

#include <absl/status/statusor.h>

#include <memory>

#include "capture/import/importer.h"

namespace stallhound::capture {

// Reads the whole trace once; the capture is then read from sorted rows. Memory: about 250 MB at most, plus 24 bytes a
// launch, whatever the length of the file. Errors: InvalidArgument (no event list; no event of a category that Kineto
// writes, which the message names), DataLoss (truncated or damaged, unless the source's options say `partial`),
// OutOfRange (limits of the source).
absl::StatusOr<std::unique_ptr<ImportedCapture>> OpenKineto(std::shared_ptr<ImportSource> source);

Importer KinetoImporter();

}  // namespace stallhound::capture
