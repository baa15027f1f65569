#include "capture/symbolize/source_paths.h"

#include <unistd.h>

#include <array>
#include <climits>
#include <cstdlib>
#include <optional>

namespace stallhound::capture {
namespace {

bool StartsWith(std::string_view text, std::string_view prefix) { return text.substr(0, prefix.size()) == prefix; }

constexpr std::array<std::string_view, 2> kPackageFolders = {"/site-packages/", "/dist-packages/"};

// Where "/python3.<n>/" of a "lib/python3.<n>/" begins.
std::optional<size_t> StandardLibrary(std::string_view path) {
  for (const std::string_view lib : {"/lib/python", "/lib64/python"}) {
    const size_t at = path.find(lib);
    if (at == std::string_view::npos) continue;
    const size_t digit = at + lib.size();
    if (digit < path.size() && path[digit] >= '2' && path[digit] <= '9') return path.find("python", at);
  }
  return std::nullopt;
}

bool IsInPackages(std::string_view path) {
  for (const std::string_view folder : kPackageFolders) {
    if (path.find(folder) != std::string_view::npos) return true;
  }
  return false;
}

std::optional<std::string> RelativeTo(std::string_view path, const std::string& root, std::string_view mark) {
  if (root.empty() || root == "/" || !StartsWith(path, root)) return std::nullopt;
  const std::string_view rest = path.substr(root.size());
  if (rest.empty() || rest[0] != '/') return std::nullopt;
  return std::string(mark) + std::string(rest.substr(1));
}

}  // namespace

PathRoots PathRoots::OfThisProcess() {
  PathRoots roots;
  char folder[PATH_MAX];
  if (getcwd(folder, sizeof folder) != nullptr) roots.project = folder;
  if (const char* home = std::getenv("HOME")) roots.home = home;
  return roots;
}

std::string PortablePath(std::string_view path, const PathRoots& roots) {
  for (const std::string_view folder : kPackageFolders) {
    const size_t at = path.rfind(folder);
    if (at != std::string_view::npos) return std::string(path.substr(at + 1));
  }
  if (const auto library = StandardLibrary(path)) return std::string(path.substr(*library));
  if (auto relative = RelativeTo(path, roots.project, "")) return *relative;
  if (auto relative = RelativeTo(path, roots.home, "~/")) return *relative;
  return std::string(path);
}

bool IsUserSource(std::string_view path) {
  if (path.empty() || StartsWith(path, "<frozen ") || StartsWith(path, "<__")) return false;
  return !IsInPackages(path) && !StandardLibrary(path).has_value();
}

bool IsUserModule(std::string_view path) {
  for (const std::string_view folder : {"/usr/lib", "/lib", "/usr/local/cuda", "/usr/local/nvidia", "/opt/nvidia"}) {
    if (StartsWith(path, folder)) return false;
  }
  const std::string_view name = path.substr(path.rfind('/') + 1);
  if (StartsWith(name, "python") || StartsWith(name, "libpython") || StartsWith(name, "[")) return false;
  for (const std::string_view library : {"libcud", "libnv", "libcu", "libstallhound_"}) {
    if (StartsWith(name, library)) return false;
  }
  return !path.empty() && !IsInPackages(path) && !StandardLibrary(path).has_value();
}

}  // namespace stallhound::capture
