#pragma once

// Functions of the host that ran behind GPU work. A thread may wait for one without any call of CUDA, as JAX's do:
// hunts cannot see such a wait, and must say so.

#include <cstdint>
#include <string>

#include "analysis/hunt/measured.h"
#include "capture/reader.h"

namespace stallhound::analysis {

class HostFunctions : public capture::CaptureVisitor {
 public:
  // `spans` are the measured ones and outlive this.
  explicit HostFunctions(const MeasuredSpans& spans) : spans_(spans) {}

  absl::Status On(const capture::HostCallBatch& batch) override;
  // Calls that submitted one in the spans and succeeded.
  int64_t count() const { return count_; }
  // What a report says of them; only if there are some.
  std::string Note() const;

 private:
  const MeasuredSpans& spans_;
  int64_t count_ = 0;
};

}  // namespace stallhound::analysis
