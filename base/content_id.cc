#include "base/content_id.h"

#include <fmt/format.h>

namespace stallhound {

std::string ContentUuid(uint64_t first, uint64_t second) {
  return fmt::format("{:08x}-{:04x}-8{:03x}-{:04x}-{:012x}", first >> 32, first >> 16 & 0xffff, first & 0xfff,
                     0x8000 | (second >> 48 & 0x3fff), second & 0xffffffffffff);
}

}  // namespace stallhound
