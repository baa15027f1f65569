#include "capture/import/tar_index.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/status_macros.h"
#include "capture/import/byte_stream.h"

namespace stallhound::capture {
namespace {

constexpr size_t kBlockBytes = 512;
constexpr size_t kMaxMembers = 10000;
constexpr uint64_t kMaxNameBytes = 64 << 10;

// A header field: octal text, or big-endian binary with the top bit set (GNU, sizes above 8 GiB).
std::optional<uint64_t> ParseNumber(std::string_view field) {
  uint64_t value = 0;
  if (!field.empty() && (static_cast<unsigned char>(field[0]) & 0x80)) {
    for (size_t i = field.size() - 8; i < field.size(); ++i) value = value << 8 | static_cast<unsigned char>(field[i]);
    return value;
  }
  bool any = false;
  for (const char c : field) {
    if (c >= '0' && c <= '7') {
      value = value * 8 + static_cast<uint64_t>(c - '0');
      any = true;
    } else if (any || (c != ' ' && c != '\0')) {
      break;
    }
  }
  if (!any) return std::nullopt;
  return value;
}

std::string_view Text(std::string_view field) { return field.substr(0, std::min(field.find('\0'), field.size())); }

// The value of `key` in a pax record list: "<length> <key>=<value>\n"...
std::optional<std::string> PaxValue(std::string_view records, std::string_view key) {
  std::optional<std::string> found;
  while (!records.empty()) {
    const size_t space = records.find(' ');
    uint64_t length = 0;
    if (space == std::string_view::npos) break;
    if (std::from_chars(records.data(), records.data() + space, length).ec != std::errc()) break;
    if (length <= space + 1 || length > records.size()) break;
    const std::string_view record = records.substr(space + 1, length - space - 2);
    if (record.size() > key.size() && record.substr(0, key.size()) == key && record[key.size()] == '=') {
      found = std::string(record.substr(key.size() + 1));
    }
    records.remove_prefix(length);
  }
  return found;
}

class TarLister {
 public:
  TarLister(ByteStream& archive, const std::string& name) : archive_(archive), name_(name) {}

  absl::StatusOr<std::vector<TarMember>> List(absl::Status* error) {
    std::string block(kBlockBytes, '\0');
    while (Fill(block.data(), kBlockBytes, error)) {
      if (std::all_of(block.begin(), block.end(), [](char c) { return c == '\0'; })) break;
      if (!IsTar(block)) {
        return absl::DataLossError(
            absl::StrCat("reading archive ", name_, ": no tar header at byte ", offset_ - kBlockBytes));
      }
      if (!OnHeader(block, error)) break;
      if (members_.size() > kMaxMembers) {
        return absl::OutOfRangeError(absl::StrCat("reading archive ", name_, ": more than ", kMaxMembers, " members"));
      }
    }
    return std::move(members_);
  }

 private:
  bool Fill(char* buffer, size_t size, absl::Status* error) {
    const size_t got = ReadFully(archive_, buffer, size, error);
    offset_ += got;
    if (got == size) return true;
    if (error->ok() && got > 0) *error = absl::DataLossError(absl::StrCat("reading archive ", name_, ": truncated"));
    return false;
  }

  bool Skip(uint64_t size, absl::Status* error) {
    std::string scratch(std::min<uint64_t>(size, 256 << 10), '\0');
    while (size > 0) {
      const size_t part = std::min<uint64_t>(size, scratch.size());
      if (!Fill(scratch.data(), part, error)) {
        if (error->ok()) *error = absl::DataLossError(absl::StrCat("reading archive ", name_, ": truncated"));
        return false;
      }
      size -= part;
    }
    return true;
  }

  bool OnHeader(std::string_view header, absl::Status* error) {
    const uint64_t size = ParseNumber(header.substr(124, 12)).value_or(0);
    const uint64_t padding = (kBlockBytes - size % kBlockBytes) % kBlockBytes;
    const char type = header[156];
    if (type == 'L' || type == 'x') {
      if (size > kMaxNameBytes) return Skip(size, error) && Skip(padding, error);
      std::string data(size, '\0');
      if (!Fill(data.data(), size, error)) return false;
      if (type == 'L') long_name_ = std::string(Text(data));
      if (type == 'x') {
        if (std::optional<std::string> path = PaxValue(data, "path")) long_name_ = std::move(path);
      }
      return Skip(padding, error);
    }
    if (type == '0' || type == '\0') AddMember(header, size);
    long_name_.reset();
    return size > uint64_t{1} << 62 ? false : Skip(size, error) && Skip(padding, error);
  }

  void AddMember(std::string_view header, uint64_t size) {
    std::string name(Text(header.substr(0, 100)));
    const std::string_view prefix = Text(header.substr(345, 155));
    if (header.substr(257, 5) == "ustar" && header[262] == '\0' && !prefix.empty())
      name = std::string(prefix) + "/" + name;
    if (long_name_) name = *long_name_;
    const std::string_view base = std::string_view(name).substr(name.rfind('/') + 1);
    // "._name" holds macOS attributes of "name".
    if (size == 0 || base.substr(0, 2) == "._") return;
    members_.push_back({name, offset_, size});
  }

  ByteStream& archive_;
  const std::string& name_;
  uint64_t offset_ = 0;
  std::optional<std::string> long_name_;
  std::vector<TarMember> members_;
};

}  // namespace

bool IsTar(std::string_view head) {
  if (head.size() < kBlockBytes || head[0] == '\0') return false;
  const std::optional<uint64_t> wanted = ParseNumber(head.substr(148, 8));
  uint64_t sum = 0;
  for (size_t i = 0; i < kBlockBytes; ++i) sum += i >= 148 && i < 156 ? ' ' : static_cast<unsigned char>(head[i]);
  return wanted == sum;
}

absl::StatusOr<std::vector<TarMember>> ListTar(ByteStream& archive, const std::string& name, absl::Status* error) {
  return TarLister(archive, name).List(error);
}

}  // namespace stallhound::capture
