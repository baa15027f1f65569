#pragma once

// The regular files of a tar archive (POSIX ustar and pax, GNU long names), found in one pass over its bytes.

#include <absl/status/statusor.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "capture/import/import_source.h"

namespace stallhound::capture {

struct TarMember {
  std::string name;
  uint64_t offset = 0;  // of its first byte in the archive
  uint64_t size_bytes = 0;
};

// True if `head` begins with a tar header whose checksum is right.
bool IsTar(std::string_view head);

// Cost: reads the archive once. `error` keeps what ended the pass early (a truncated archive); members before it are
// returned. Errors: DataLoss (a header that is not one), OutOfRange (more than 10,000 members).
absl::StatusOr<std::vector<TarMember>> ListTar(ByteStream& archive, const std::string& name, absl::Status* error);

}  // namespace stallhound::capture
