#pragma once

// Python source paths as they may be stored: relative to site-packages, the standard library or the home folder, so
// that no user name is kept, and told apart into the user's code and everything else.

#include <string>
#include <string_view>

namespace stallhound::capture {

struct PythonPath {
  std::string file;
  // Neither in the standard library nor in site-packages. Kineto strips both prefixes from the paths it writes, so
  // relative paths are decided by their first component.
  bool is_user = false;
};

PythonPath ShortenPythonPath(std::string_view path);

}  // namespace stallhound::capture
