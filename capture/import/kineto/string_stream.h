#pragma once

// A text as a byte stream that arrives in pieces, for tests.

#include <algorithm>
#include <string>
#include <utility>

#include "capture/import/import_source.h"

namespace stallhound::capture {

class StringStream : public ByteStream {
 public:
  // `error`, if not OK, comes when the text is used up.
  explicit StringStream(std::string text, size_t piece_bytes = SIZE_MAX, absl::Status error = absl::OkStatus())
      : text_(std::move(text)), piece_bytes_(piece_bytes), error_(std::move(error)) {}

  absl::StatusOr<size_t> Read(char* buffer, size_t size) override {
    const size_t got = std::min({size, piece_bytes_, text_.size() - offset_});
    if (got == 0 && !error_.ok()) return error_;
    text_.copy(buffer, got, offset_);
    offset_ += got;
    return got;
  }

 private:
  const std::string text_;
  const size_t piece_bytes_;
  const absl::Status error_;
  size_t offset_ = 0;
};

}  // namespace stallhound::capture
