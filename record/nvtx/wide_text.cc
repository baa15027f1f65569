#include "record/nvtx/wide_text.h"

#include <cstring>

#include "record/stacks/utf8.h"

namespace stallhound::record {

std::string_view WideText::Convert(const wchar_t* text) {
  if (text == nullptr) return {};
  size_t used = 0;
  for (; *text != L'\0'; ++text) {
    char encoded[4];
    const size_t bytes = EncodeUtf8(static_cast<uint32_t>(*text), encoded);
    if (used + bytes > kMaxBytes) break;
    memcpy(bytes_ + used, encoded, bytes);
    used += bytes;
  }
  return {bytes_, used};
}

}  // namespace stallhound::record
