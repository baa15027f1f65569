#include "capture/symbolize/source_paths.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>

namespace stallhound::capture {
namespace {

constexpr std::string_view kHomes[] = {"/home/", "/Users/", "\\Users\\"};

bool IsNameCharacter(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '_' || c == '-' || c == '@' || c == '+';
}

bool IsIdentifier(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

constexpr std::array<std::string_view, 2> kPackageFolders = {"/site-packages/", "/dist-packages/"};

constexpr std::string_view kSystemFolders[] = {
    "/usr/lib/",        "/usr/lib32/",      "/usr/lib64/",        "/lib/",        "/lib32/",    "/lib64/",
    "/usr/local/cuda/", "/usr/local/cuda-", "/usr/local/nvidia/", "/opt/nvidia/", "/opt/cuda/",
};

// Parts of the paths of headers, wherever they lie: "/opt/libtorch/include/ATen/x.h", "external/torch/include/c10/y.h".
constexpr std::string_view kLibraryHeaders[] = {
    "/usr/include/",
    "/usr/local/cuda/",
    "/usr/local/cuda-",
    "/include/c++/",
    "/lib/gcc/",
    "/torch/include/",
    "/include/ATen/",
    "/include/c10/",
    "/include/torch/",
    "/include/caffe2/",
    "/cuda/include/",
    "/include/thrust/",
    "/include/cub/",
    "/include/nvtx3/",
    "/cuda_runtime.h",
    "/cuda_runtime_api.h",
    "/targets/x86_64-linux/include/",
    "/targets/sbsa-linux/include/",
};

constexpr std::string_view kLibraryNamespaces[] = {
    "std::", "__gnu_cxx::", "at::", "c10::", "torch::", "caffe2::", "thrust::", "cub::", "cuda::", "nvtx3::",
};

// Beginnings of the names of libraries that come with CUDA, LibTorch, the compiler or the C library, wherever they lie.
constexpr std::string_view kSystemLibraries[] = {
    "ld-linux", "libaccinj",  "libc-2",    "libc.so",      "libc10",         "libcublas",   "libcuda",    "libcudart",
    "libcudnn", "libcufft",   "libcupti",  "libcurand",    "libcusolver",    "libcusparse", "libdl.so",   "libgcc_s",
    "libgomp",  "libm.so",    "libnccl",   "libnvJitLink", "libnvToolsExt",  "libnvfatbin", "libnvidia-", "libnvperf",
    "libnvrtc", "libpthread", "libpython", "librt.so",     "libstallhound_", "libstdc++",   "libtorch",
};

// "python", "python3", "python3.12".
bool IsPython(std::string_view name) {
  if (!name.starts_with("python")) return false;
  return name.find_first_not_of("0123456789.", 6) == std::string_view::npos;
}

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

// Where the name that a function was declared with begins in "ReturnType<...> a::B<C>::Function(...) const".
size_t NameBegin(std::string_view function) {
  constexpr std::string_view kOperator = "operator";
  constexpr std::string_view kAnonymous = "(anonymous namespace)";
  size_t begin = 0;
  int depth = 0;
  for (size_t i = 0; i < function.size(); ++i) {
    const std::string_view rest = function.substr(i);
    if (rest.starts_with(kAnonymous)) {
      i += kAnonymous.size() - 1;
    } else if (rest.starts_with(kOperator) && (i == 0 || !IsIdentifier(function[i - 1])) &&
               (rest.size() == kOperator.size() || !IsIdentifier(rest[kOperator.size()]))) {
      if (depth == 0) return begin;  // what follows may hold a space or brackets of its own
      i += kOperator.size();
    } else if (function[i] == '<' || function[i] == '{' || function[i] == '[' || function[i] == '(') {
      const bool is_type = function[i] == '(' && i >= 8 && function.substr(0, i).ends_with("decltype ");
      if (function[i] == '(' && depth == 0 && !is_type && i > begin) return begin;
      ++depth;
    } else if (function[i] == '>' || function[i] == '}' || function[i] == ']' || function[i] == ')') {
      --depth;
    } else if (function[i] == ' ' && depth == 0) {
      begin = i + 1;
    }
  }
  return begin;
}

// Of the home folder that begins at `at`: "/home/ann", "/root". 0: none does.
size_t HomeLength(std::string_view text, size_t at) {
  constexpr std::string_view kRoot = "/root";
  const std::string_view rest = text.substr(at);
  const bool is_root = rest.starts_with(kRoot) && rest.size() > kRoot.size() && rest[kRoot.size()] == '/';
  if (is_root && (at == 0 || !IsNameCharacter(text[at - 1]))) return kRoot.size();
  for (const std::string_view home : kHomes) {
    if (!rest.starts_with(home)) continue;
    size_t end = home.size();
    while (end < rest.size() && IsNameCharacter(rest[end])) ++end;
    return end > home.size() ? end : 0;
  }
  return 0;
}

// "C:" at a word's beginning; "/usr/bin:" and "load:" are lists and labels.
bool EndsWithDrive(std::string_view text) {
  if (text.size() < 2 || text.back() != ':' || !std::isalpha(static_cast<unsigned char>(text[text.size() - 2]))) {
    return false;
  }
  if (text.size() == 2) return true;
  const char before = text[text.size() - 3];
  return !IsNameCharacter(before) && before != '/' && before != '\\';
}

std::optional<std::string> RelativeTo(std::string_view path, const std::string& root, std::string_view mark) {
  if (root.empty() || root == "/" || !path.starts_with(root)) return std::nullopt;
  const std::string_view rest = path.substr(root.size());
  if (rest.empty() || rest[0] != '/') return std::nullopt;
  return std::string(mark) + std::string(rest.substr(1));
}

}  // namespace

std::string PortablePath(std::string_view path, const PathRoots& roots) {
  for (const std::string_view folder : kPackageFolders) {
    const size_t at = path.rfind(folder);
    if (at != std::string_view::npos) return std::string(path.substr(at + 1));
  }
  if (const auto library = StandardLibrary(path)) return std::string(path.substr(*library));
  if (auto relative = RelativeTo(path, roots.project, "")) return *relative;
  if (auto relative = RelativeTo(path, roots.home, "~/")) return *relative;
  return HideHomes(path);
}

std::string HideHomes(std::string_view text) {
  std::string result;
  for (size_t i = 0; i < text.size();) {
    const size_t length = HomeLength(text, i);
    if (length == 0) {
      result += text[i++];
      continue;
    }
    if (text.substr(i + 1).starts_with("Users") && EndsWithDrive(result)) result.resize(result.size() - 2);
    result += '~';
    i += length;
  }
  return result;
}

bool IsUserSource(std::string_view path) {
  if (path.empty() || path.starts_with("<frozen ") || path.starts_with("<__")) return false;
  for (const std::string_view part : kLibraryHeaders) {
    // A path relative to the project begins with a folder's name.
    if (path.find(part) != std::string_view::npos || path.starts_with(part.substr(1))) return false;
  }
  return !IsInPackages(path) && !StandardLibrary(path).has_value();
}

bool IsUserModule(std::string_view path) {
  if (path.find('\\') != std::string_view::npos) {
    std::string slashes(path);
    std::replace(slashes.begin(), slashes.end(), '\\', '/');
    const bool is_system =
        slashes.find("/Windows/") != std::string::npos || slashes.find("/WINDOWS/") != std::string::npos;
    return !is_system && IsUserModule(slashes);
  }
  for (const std::string_view folder : kSystemFolders) {
    if (path.starts_with(folder)) return false;
  }
  const std::string_view name = path.substr(path.rfind('/') + 1);
  if (name.empty() || name[0] == '[' || IsPython(name)) return false;
  for (const std::string_view library : kSystemLibraries) {
    if (name.starts_with(library)) return false;
  }
  return !IsInPackages(path) && !StandardLibrary(path).has_value();
}

bool IsUserFunction(std::string_view function) {
  if (function.starts_with("libcudart_static_") || function.starts_with("__cuda")) return false;
  for (const std::string_view prefix : {"cuda", "cu"}) {
    if (!function.starts_with(prefix) || function.size() == prefix.size()) continue;
    const char next = function[prefix.size()];
    if (next >= 'A' && next <= 'Z') return false;
  }
  return true;
}

bool IsLibraryName(std::string_view function) {
  const std::string_view name = function.substr(NameBegin(function));
  for (const std::string_view library : kLibraryNamespaces) {
    if (name.starts_with(library)) return true;
  }
  return false;
}

}  // namespace stallhound::capture
