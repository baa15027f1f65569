#pragma once

// Rows to batches to a visitor.

#include <absl/status/status.h>

#include "capture/reader.h"

namespace stallhound::capture::nsys {

template <typename Batch>
class Emitter {
 public:
  explicit Emitter(CaptureVisitor& visitor) : visitor_(visitor) {}

  absl::Status Add(const typename Batch::Row& row) {
    batch_.Append(row);
    return batch_.size < kBatchRows ? absl::OkStatus() : Flush();
  }
  absl::Status Flush() {
    if (batch_.size == 0) return absl::OkStatus();
    absl::Status status = visitor_.On(batch_);
    batch_.Clear();
    return status;
  }

 private:
  CaptureVisitor& visitor_;
  Batch batch_;
};

}  // namespace stallhound::capture::nsys
