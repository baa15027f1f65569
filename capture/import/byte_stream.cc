#include "capture/import/byte_stream.h"

#include <absl/strings/str_cat.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/status_macros.h"

namespace stallhound::capture {
namespace {

constexpr size_t kInputBytes = 256 << 10;
// Below this much output a high ratio is harmless: a small file of repeated text.
constexpr uint64_t kRatioFloorBytes = 1 << 20;
constexpr int kMaxNestedGzip = 3;

class FileStream : public ByteStream {
 public:
  FileStream(int fd, std::string path) : fd_(fd), path_(std::move(path)) {}
  ~FileStream() override { close(fd_); }

  absl::StatusOr<size_t> Read(char* buffer, size_t size) override {
    while (true) {
      const ssize_t got = read(fd_, buffer, size);
      if (got >= 0) return static_cast<size_t>(got);
      if (errno != EINTR) return absl::UnavailableError(absl::StrCat("reading ", path_, ": ", strerror(errno)));
    }
  }

 private:
  const int fd_;
  const std::string path_;
};

class GzipStream : public ByteStream {
 public:
  GzipStream(std::unique_ptr<ByteStream> compressed, std::string name, bool force)
      : compressed_(std::move(compressed)), name_(std::move(name)), force_(force), input_(kInputBytes) {
    ready_ = inflateInit2(&zlib_, 15 + 16) == Z_OK;
  }
  ~GzipStream() override {
    if (ready_) inflateEnd(&zlib_);
  }

  absl::StatusOr<size_t> Read(char* buffer, size_t size) override {
    if (!ready_) return absl::ResourceExhaustedError(absl::StrCat("decompressing ", name_, ": out of memory"));
    zlib_.next_out = reinterpret_cast<Bytef*>(buffer);
    zlib_.avail_out = static_cast<uInt>(std::min<size_t>(size, 1u << 30));
    const uInt wanted = zlib_.avail_out;
    absl::Status status;
    while (status.ok() && !ended_ && zlib_.avail_out > 0) status = Step();
    const size_t got = wanted - zlib_.avail_out;
    output_bytes_ += got;
    if (got == 0) {
      if (!status.ok()) return status;
      return size_t{0};
    }
    // An error met after some bytes is met again by the next call: input stays exhausted or damaged.
    SH_RETURN_IF_ERROR(CheckLimits());
    return got;
  }

 private:
  absl::Status Step() {
    if (zlib_.avail_in == 0) SH_RETURN_IF_ERROR(Refill());
    if (!in_member_) return StartMember();
    if (zlib_.avail_in == 0) {
      return absl::DataLossError(absl::StrCat("decompressing ", name_, ": gzip stream truncated: unexpected end after ",
                                              input_bytes_, " compressed bytes"));
    }
    const int result = inflate(&zlib_, Z_NO_FLUSH);
    if (result == Z_STREAM_END) {
      in_member_ = false;
      return absl::OkStatus();
    }
    if (result == Z_OK || result == Z_BUF_ERROR) return absl::OkStatus();
    return absl::DataLossError(absl::StrCat("decompressing ", name_, ": gzip stream damaged near compressed byte ",
                                            input_bytes_ - zlib_.avail_in, ": ",
                                            zlib_.msg != nullptr ? zlib_.msg : "unknown error"));
  }

  absl::Status Refill() {
    SH_ASSIGN_OR_RETURN(const size_t got, compressed_->Read(input_.data(), input_.size()));
    zlib_.next_in = reinterpret_cast<Bytef*>(input_.data());
    zlib_.avail_in = static_cast<uInt>(got);
    input_bytes_ += got;
    return absl::OkStatus();
  }

  // Between members: another one, padding, or the end.
  absl::Status StartMember() {
    const bool another = zlib_.avail_in > 0 && zlib_.next_in[0] == 0x1f;
    if (!another && !first_member_) {
      ended_ = true;
      return absl::OkStatus();
    }
    if (!first_member_) inflateReset(&zlib_);
    first_member_ = false;
    in_member_ = true;
    return absl::OkStatus();
  }

  absl::Status CheckLimits() const {
    if (force_) return absl::OkStatus();
    if (output_bytes_ > kMaxImportBytes) {
      return absl::OutOfRangeError(
          absl::StrCat("decompressing ", name_, ": more than 16 GiB; `stallhound import --force` reads it anyway"));
    }
    const uint64_t consumed = input_bytes_ - zlib_.avail_in;
    if (output_bytes_ > kRatioFloorBytes && output_bytes_ / kMaxCompressionRatio > consumed) {
      return absl::OutOfRangeError(absl::StrCat("decompressing ", name_, ": ", consumed, " bytes became ",
                                                output_bytes_, ", more than ", kMaxCompressionRatio,
                                                ":1, as in a zip bomb; `stallhound import --force` reads it anyway"));
    }
    return absl::OkStatus();
  }

  std::unique_ptr<ByteStream> compressed_;
  const std::string name_;
  const bool force_;
  std::vector<char> input_;
  z_stream zlib_{};
  bool ready_ = false;
  bool first_member_ = true;
  bool in_member_ = false;
  bool ended_ = false;
  uint64_t input_bytes_ = 0;
  uint64_t output_bytes_ = 0;
};

class PartStream : public ByteStream {
 public:
  PartStream(std::unique_ptr<ByteStream> whole, uint64_t offset, uint64_t length, std::string name)
      : whole_(std::move(whole)), skip_bytes_(offset), left_bytes_(length), name_(std::move(name)) {}

  absl::StatusOr<size_t> Read(char* buffer, size_t size) override {
    if (skip_bytes_ > 0) SH_RETURN_IF_ERROR(Skip());
    if (left_bytes_ == 0) return size_t{0};
    SH_ASSIGN_OR_RETURN(const size_t got, whole_->Read(buffer, std::min<uint64_t>(size, left_bytes_)));
    if (got == 0) return Short();
    left_bytes_ -= got;
    return got;
  }

 private:
  absl::Status Skip() {
    std::vector<char> scratch(kInputBytes);
    while (skip_bytes_ > 0) {
      SH_ASSIGN_OR_RETURN(const size_t got,
                          whole_->Read(scratch.data(), std::min<uint64_t>(scratch.size(), skip_bytes_)));
      if (got == 0) return Short();
      skip_bytes_ -= got;
    }
    return absl::OkStatus();
  }

  absl::Status Short() const {
    return absl::DataLossError(absl::StrCat("reading ", name_, ": archive truncated: ", skip_bytes_ + left_bytes_,
                                            " bytes of the member are missing"));
  }

  std::unique_ptr<ByteStream> whole_;
  uint64_t skip_bytes_;
  uint64_t left_bytes_;
  const std::string name_;
};

// Gives back bytes that were read ahead, then the rest; an error met while reading ahead comes after them.
class PeekedStream : public ByteStream {
 public:
  PeekedStream(std::string peeked, absl::Status error, std::unique_ptr<ByteStream> rest)
      : peeked_(std::move(peeked)), error_(std::move(error)), rest_(std::move(rest)) {}

  absl::StatusOr<size_t> Read(char* buffer, size_t size) override {
    if (offset_ == peeked_.size()) {
      if (!error_.ok()) return error_;
      return rest_->Read(buffer, size);
    }
    const size_t got = std::min(size, peeked_.size() - offset_);
    memcpy(buffer, peeked_.data() + offset_, got);
    offset_ += got;
    return got;
  }

 private:
  const std::string peeked_;
  const absl::Status error_;
  std::unique_ptr<ByteStream> rest_;
  size_t offset_ = 0;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ByteStream>> OpenFileStream(const std::filesystem::path& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    const std::string message = absl::StrCat("opening ", path.string(), ": ", strerror(errno));
    if (errno == ENOENT) return absl::NotFoundError(message);
    if (errno == EACCES) return absl::PermissionDeniedError(message);
    return absl::UnavailableError(message);
  }
  posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
  return std::make_unique<FileStream>(fd, path.string());
}

std::unique_ptr<ByteStream> MakeGzipStream(std::unique_ptr<ByteStream> compressed, std::string name, bool force) {
  return std::make_unique<GzipStream>(std::move(compressed), std::move(name), force);
}

std::unique_ptr<ByteStream> MakePartStream(std::unique_ptr<ByteStream> whole, uint64_t offset, uint64_t length,
                                           std::string name) {
  return std::make_unique<PartStream>(std::move(whole), offset, length, std::move(name));
}

absl::StatusOr<std::unique_ptr<ByteStream>> MakeContentStream(std::unique_ptr<ByteStream> stream,
                                                              const std::string& name, bool force,
                                                              bool* was_compressed) {
  if (was_compressed != nullptr) *was_compressed = false;
  for (int depth = 0;; ++depth) {
    std::string peeked(3, '\0');
    absl::Status error;
    peeked.resize(ReadFully(*stream, peeked.data(), peeked.size(), &error));
    const bool gzip = IsGzip(peeked);
    if (!gzip && peeked == "\xef\xbb\xbf") peeked.clear();
    stream = std::make_unique<PeekedStream>(std::move(peeked), std::move(error), std::move(stream));
    if (!gzip) return stream;
    if (depth == kMaxNestedGzip) {
      return absl::InvalidArgumentError(
          absl::StrCat("decompressing ", name, ": more than ", kMaxNestedGzip, " layers of gzip"));
    }
    if (was_compressed != nullptr) *was_compressed = true;
    stream = MakeGzipStream(std::move(stream), name, force);
  }
}

size_t ReadFully(ByteStream& stream, char* buffer, size_t size, absl::Status* error) {
  size_t filled = 0;
  while (filled < size) {
    const absl::StatusOr<size_t> got = stream.Read(buffer + filled, size - filled);
    if (!got.ok()) {
      *error = got.status();
      break;
    }
    if (*got == 0) break;
    filled += *got;
  }
  return filled;
}

}  // namespace stallhound::capture
