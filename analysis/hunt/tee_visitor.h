#pragma once

// One read for two visitors.

#include "base/status_macros.h"
#include "capture/reader.h"

namespace stallhound::analysis {

// Hands each batch to a visitor, and those of some tables to a second one.
class TeeVisitor : public capture::CaptureVisitor {
 public:
  TeeVisitor(capture::CaptureVisitor& first, capture::CaptureVisitor& second, capture::TableSet seconds)
      : first_(first), second_(second), seconds_(seconds) {}

#define SH_TEE(Type, table, COLUMNS)                                                    \
  absl::Status On(const capture::Type##Batch& batch) override {                         \
    SH_RETURN_IF_ERROR(first_.On(batch));                                               \
    const bool is_second = seconds_.test(static_cast<size_t>(capture::Table::k##Type)); \
    return is_second ? second_.On(batch) : absl::OkStatus();                            \
  }
  SH_CAPTURE_TABLES(SH_TEE)
#undef SH_TEE

 private:
  capture::CaptureVisitor& first_;
  capture::CaptureVisitor& second_;
  capture::TableSet seconds_;
};

}  // namespace stallhound::analysis
