#pragma once

// Wide NVTX text as UTF-8, on the stack: NVTX calls allocate nothing.

#include <cstddef>
#include <string_view>

namespace stallhound::record {

class WideText {
 public:
  static constexpr size_t kMaxBytes = 1024;

  // Valid as long as this. What does not fit is cut at a character; what is no character becomes U+FFFD.
  std::string_view Convert(const wchar_t* text);

 private:
  char bytes_[kMaxBytes];
};

}  // namespace stallhound::record
