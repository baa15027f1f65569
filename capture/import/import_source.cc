#include "capture/import/import_source.h"

#include <absl/strings/str_cat.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include "base/status_macros.h"
#include "capture/import/byte_stream.h"
#include "capture/import/tar_index.h"

namespace stallhound::capture {

// Fills ImportSource objects.
class SourceOpener {
 public:
  SourceOpener(std::filesystem::path path, const ImportOptions& options) : path_(std::move(path)), options_(options) {}

  absl::StatusOr<ImportSources> Open() {
    SH_RETURN_IF_ERROR(CheckFile());
    auto whole = std::shared_ptr<ImportSource>(new ImportSource());
    whole->path_ = path_.string();
    whole->name_ = path_.filename().string();
    SH_RETURN_IF_ERROR(Look(*whole));
    ImportSources result;
    if (!IsTar(whole->head_)) {
      result.sources.push_back(std::move(whole));
      return result;
    }
    result.is_archive = true;
    SH_RETURN_IF_ERROR(OpenMembers(*whole, result));
    return result;
  }

 private:
  absl::Status CheckFile() const {
    std::error_code error;
    const std::filesystem::file_status status = std::filesystem::status(path_, error);
    if (status.type() == std::filesystem::file_type::not_found) {
      return absl::NotFoundError(absl::StrCat("importing ", path_.string(), ": no such file"));
    }
    if (status.type() != std::filesystem::file_type::regular) {
      return absl::FailedPreconditionError(absl::StrCat("importing ", path_.string(), ": not a regular file"));
    }
    const uint64_t size = std::filesystem::file_size(path_, error);
    if (error) return absl::UnavailableError(absl::StrCat("importing ", path_.string(), ": ", error.message()));
    if (size == 0)
      return absl::FailedPreconditionError(absl::StrCat("importing ", path_.string(), ": the file is empty"));
    if (size > kMaxImportBytes && !options_.force) {
      return absl::OutOfRangeError(
          absl::StrCat("importing ", path_.string(), ": ", size,
                       " bytes, more than 16 GiB; `stallhound import --force` reads it anyway"));
    }
    return absl::OkStatus();
  }

  // Reads the head. Damage is not an error here: the importer that knows the format says what it means.
  absl::Status Look(ImportSource& source) {
    source.file_ = path_;
    source.options_ = options_;
    SH_ASSIGN_OR_RETURN(std::unique_ptr<ByteStream> raw, source.OpenRaw());
    absl::StatusOr<std::unique_ptr<ByteStream>> content =
        MakeContentStream(std::move(raw), source.path_, options_.force, &source.compressed_);
    SH_RETURN_IF_ERROR(content.status());
    source.head_.resize(ImportSource::kHeadBytes);
    source.head_.resize(ReadFully(**content, source.head_.data(), source.head_.size(), &source.head_status_));
    return absl::OkStatus();
  }

  absl::Status OpenMembers(const ImportSource& whole, ImportSources& result) {
    SH_ASSIGN_OR_RETURN(const std::unique_ptr<ByteStream> stream, whole.OpenStream());
    absl::Status cut;
    SH_ASSIGN_OR_RETURN(const std::vector<TarMember> members, ListTar(*stream, whole.path_, &cut));
    if (!cut.ok() && !options_.partial) return cut;
    for (const TarMember& member : members) {
      auto source = std::shared_ptr<ImportSource>(new ImportSource());
      source->path_ = absl::StrCat(whole.path_, ":", member.name);
      source->name_ = member.name;
      source->is_member_ = true;
      source->member_offset_ = member.offset;
      source->member_bytes_ = member.size_bytes;
      SH_RETURN_IF_ERROR(Look(*source));
      result.sources.push_back(std::move(source));
    }
    if (!result.sources.empty()) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat("importing ", whole.path_, ": the archive holds no files"));
  }

  const std::filesystem::path path_;
  const ImportOptions options_;
};

ImportSource::~ImportSource() {
  std::error_code ignored;
  if (!temporary_.empty()) std::filesystem::remove(temporary_, ignored);
}

absl::StatusOr<std::unique_ptr<ByteStream>> ImportSource::OpenRaw() const {
  SH_ASSIGN_OR_RETURN(std::unique_ptr<ByteStream> file, OpenFileStream(file_));
  if (!is_member_) return file;
  SH_ASSIGN_OR_RETURN(file, MakeContentStream(std::move(file), path_, options_.force, nullptr));
  return MakePartStream(std::move(file), member_offset_, member_bytes_, path_);
}

absl::StatusOr<std::unique_ptr<ByteStream>> ImportSource::OpenStream() const {
  SH_ASSIGN_OR_RETURN(std::unique_ptr<ByteStream> raw, OpenRaw());
  return MakeContentStream(std::move(raw), path_, options_.force, nullptr);
}

absl::StatusOr<std::filesystem::path> ImportSource::LocalFile() {
  if (!is_member_ && !compressed_) return file_;
  if (!temporary_.empty()) return temporary_;
  SH_ASSIGN_OR_RETURN(const std::unique_ptr<ByteStream> stream, OpenStream());
  std::error_code error;
  std::string pattern = (std::filesystem::temp_directory_path(error) / "stallhound-import-XXXXXX").string();
  const int fd = mkstemp(pattern.data());
  if (fd < 0) return absl::UnavailableError(absl::StrCat("creating ", pattern, ": ", strerror(errno)));
  temporary_ = pattern;
  FILE* file = fdopen(fd, "wb");
  std::string buffer(1 << 20, '\0');
  absl::Status status;
  while (true) {
    const absl::StatusOr<size_t> got = stream->Read(buffer.data(), buffer.size());
    if (!got.ok()) status = got.status();
    if (!got.ok() || *got == 0) break;
    if (fwrite(buffer.data(), 1, *got, file) != *got) {
      status = absl::UnavailableError(absl::StrCat("writing ", pattern, ": ", strerror(errno)));
      break;
    }
  }
  if (fclose(file) != 0 && status.ok()) {
    status = absl::UnavailableError(absl::StrCat("writing ", pattern, ": ", strerror(errno)));
  }
  SH_RETURN_IF_ERROR(status);
  return temporary_;
}

absl::StatusOr<std::string> ImportSource::ReadAll(uint64_t limit_bytes) const {
  SH_ASSIGN_OR_RETURN(const std::unique_ptr<ByteStream> stream, OpenStream());
  std::string text;
  std::string buffer(1 << 20, '\0');
  while (true) {
    SH_ASSIGN_OR_RETURN(const size_t got, stream->Read(buffer.data(), buffer.size()));
    if (got == 0) return text;
    text.append(buffer, 0, got);
    if (text.size() > limit_bytes) {
      return absl::OutOfRangeError(
          absl::StrCat("reading ", path_, ": larger than ", limit_bytes, " bytes, too large for its format"));
    }
  }
}

absl::StatusOr<ImportSources> OpenSources(const std::filesystem::path& path, const ImportOptions& options) {
  return SourceOpener(path, options).Open();
}

}  // namespace stallhound::capture
