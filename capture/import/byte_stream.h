#pragma once

// Byte streams that ImportSource stacks on each other: file, gzip, part of a stream, text without byte-order mark.

#include <absl/status/statusor.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "capture/import/import_source.h"

namespace stallhound::capture {

// NotFound, PermissionDenied or Unavailable, naming the path.
absl::StatusOr<std::unique_ptr<ByteStream>> OpenFileStream(const std::filesystem::path& path);

inline bool IsGzip(std::string_view head) { return head.size() >= 2 && head[0] == '\x1f' && head[1] == '\x8b'; }

// Decompresses all members of a gzip stream (RFC 1952), one after the other. Zero padding and other bytes after the
// last member are ignored, as gzip does. `name` is for messages. A stream that ends inside a member delivers what it
// has and then returns DataLoss.
std::unique_ptr<ByteStream> MakeGzipStream(std::unique_ptr<ByteStream> compressed, std::string name, bool force);

// `length` bytes from `offset` on; DataLoss if the stream is shorter.
std::unique_ptr<ByteStream> MakePartStream(std::unique_ptr<ByteStream> whole, uint64_t offset, uint64_t length,
                                           std::string name);

// Looks at the first bytes of `stream` and peels off gzip layers (nested ones too) and a UTF-8 byte-order mark.
// `was_compressed`, if not null, says whether there was a layer.
absl::StatusOr<std::unique_ptr<ByteStream>> MakeContentStream(std::unique_ptr<ByteStream> stream,
                                                              const std::string& name, bool force,
                                                              bool* was_compressed);

// Fills `buffer` as far as the stream goes: fewer than `size` bytes only at the end or before an error, which is kept
// in `error`.
size_t ReadFully(ByteStream& stream, char* buffer, size_t size, absl::Status* error);

}  // namespace stallhound::capture
