#pragma once

// A folder for one test, removed with all it holds.

#include <string>
#include <string_view>

namespace stallhound::testing {

class TempDir {
 public:
  TempDir();
  TempDir(const TempDir&) = delete;
  ~TempDir();

  const std::string& path() const { return path_; }
  // `path()/name`.
  std::string File(std::string_view name) const;
  // Writes a file (its folders are made) and returns its path; with `mode` 0755 a script that can be started.
  std::string Write(std::string_view name, std::string_view content, unsigned mode = 0644) const;

 private:
  std::string path_;
};

}  // namespace stallhound::testing
