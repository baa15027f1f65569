#pragma once

// What a source path says: whether it is the user's code, and how to show it without naming a machine or a person.

#include <string>
#include <string_view>

namespace stallhound::capture {

struct PathRoots {
  std::string project;  // working folder of the profiled process, absolute; empty: unknown
  std::string home;     // of its user; empty: unknown
};

// Relative to the project, to site-packages ("site-packages/torch/x.py"), to the standard library ("python3.12/ast.py")
// or to `~`, for the homes of other users too; any other path as it is.
std::string PortablePath(std::string_view path, const PathRoots& roots);

// Replaces homes (behind /home/, /Users/ or \Users\, and /root) in any text: "/home/ann/x.py" -> "~/x.py". The drive
// goes with the home: "C:\Users\ann\x.py" -> "~\x.py".
std::string HideHomes(std::string_view text);

// False for Python files of the standard library and of site-packages or dist-packages, frozen modules and code made by
// the interpreter's own tools; for headers of the system, of the C++ standard library, of CUDA and of LibTorch.
bool IsUserSource(std::string_view path);

// False for libraries of the system, of CUDA and of LibTorch, for Python itself, and for what lies in site-packages.
bool IsUserModule(std::string_view path);

// False for functions of the CUDA runtime, which programs carry inside when they link it statically.
bool IsUserFunction(std::string_view function);

// Whether a demangled name lies in a namespace of the C++ standard library, of CUDA or of LibTorch: "at::Tensor::item()
// const", "void std::__invoke_impl<...>(...)". Templates of theirs are compiled into the user's binaries.
bool IsLibraryName(std::string_view function);

}  // namespace stallhound::capture
