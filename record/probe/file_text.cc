#include "record/probe/file_text.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

namespace stallhound::record {

std::optional<std::string> ReadText(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return std::nullopt;
  constexpr size_t kMaxBytes = 65536;
  std::string text(kMaxBytes, '\0');
  const ssize_t bytes = read(file, text.data(), text.size());
  close(file);
  if (bytes < 0) return std::nullopt;
  text.resize(static_cast<size_t>(bytes));
  return text;
}

bool Exists(const std::string& path) { return access(path.c_str(), F_OK) == 0; }

std::optional<std::string> RealPath(const std::string& path) {
  char resolved[PATH_MAX];
  return realpath(path.c_str(), resolved) != nullptr ? std::optional<std::string>(resolved) : std::nullopt;
}

}  // namespace stallhound::record
