#include "record/stacks/python_runtime.h"

#include <dlfcn.h>
#include <link.h>

namespace stallhound::record {
namespace {

constexpr char kLibraryPrefix[] = "libpython3";
constexpr size_t kMaxPath = 4096;

// Looks for a mapped libpython3*.so that is no stub (libpython3.so forwards to the versioned one).
int FindLibrary(dl_phdr_info* info, size_t, void* path) {
  if (info->dlpi_name == nullptr) return 0;
  const char* slash = strrchr(info->dlpi_name, '/');
  const char* base = slash != nullptr ? slash + 1 : info->dlpi_name;
  if (strncmp(base, kLibraryPrefix, sizeof(kLibraryPrefix) - 1) != 0) return 0;
  if (strncmp(base + sizeof(kLibraryPrefix) - 1, ".so", 3) == 0) return 0;
  const size_t length = strlen(info->dlpi_name);
  if (length >= kMaxPath) return 0;
  memcpy(path, info->dlpi_name, length + 1);
  return 1;
}

void* OpenMappedLibrary() {
  char path[kMaxPath];
  if (dl_iterate_phdr(FindLibrary, path) == 0) return nullptr;
  return dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
}

}  // namespace

uint32_t ParsePythonVersion(const char* text) {
  uint32_t parts[3] = {};
  for (int part = 0; part < 3; ++part) {
    if (*text < '0' || *text > '9') return 0;
    while (*text >= '0' && *text <= '9') parts[part] = parts[part] * 10 + static_cast<uint32_t>(*text++ - '0');
    if (parts[part] > 0xff) return 0;
    if (part < 2 && *text++ != '.') return 0;
  }
  return parts[0] << 24 | parts[1] << 16 | parts[2] << 8;
}

PythonRuntime PythonRuntime::Detect() {
  PythonRuntime result;
  void* library = RTLD_DEFAULT;
  if (dlsym(RTLD_DEFAULT, "Py_GetVersion") == nullptr) {
    library = OpenMappedLibrary();
    if (library == nullptr) return result;
  }
  auto* get_version = reinterpret_cast<const char* (*)()>(dlsym(library, "Py_GetVersion"));
  const auto* version = static_cast<const uint32_t*>(dlsym(library, "Py_Version"));  // from 3.11 on
  if (get_version == nullptr) return result;
  result.version_hex_ = version != nullptr ? *version : ParsePythonVersion(get_version());
  result.kind_ = Kind::kUnknown;
  result.get_thread_state_ = reinterpret_cast<void* (*)()>(dlsym(library, "PyGILState_GetThisThreadState"));
  result.is_initialized_ = reinterpret_cast<int (*)()>(dlsym(library, "Py_IsInitialized"));
  void* finalizing = dlsym(library, "Py_IsFinalizing");  // public from 3.13 on
  if (finalizing == nullptr) finalizing = dlsym(library, "_Py_IsFinalizing");
  result.is_finalizing_ = reinterpret_cast<int (*)()>(finalizing);
  result.code_type_ = reinterpret_cast<Address>(dlsym(library, "PyCode_Type"));
  if (result.get_thread_state_ == nullptr || result.is_initialized_ == nullptr || finalizing == nullptr ||
      result.code_type_ == 0) {
    return result;
  }
  if (FindPythonLayout(result.version_hex_, dlsym(library, "_PyRuntime"), result.layout_)) result.kind_ = Kind::kKnown;
  return result;
}

PythonRuntime PythonRuntime::ForImage(const PythonLayout& layout, Address code_type, Address (*thread_state)()) {
  PythonRuntime result;
  result.kind_ = Kind::kKnown;
  result.version_hex_ = layout.version << 16;
  result.layout_ = layout;
  result.code_type_ = code_type;
  result.image_thread_state_ = thread_state;
  return result;
}

Address PythonRuntime::ThreadState() const {
  if (image_thread_state_ != nullptr) return image_thread_state_();
  if (get_thread_state_ == nullptr || is_initialized_ == nullptr || is_initialized_() == 0) return 0;
  return reinterpret_cast<Address>(get_thread_state_());
}

}  // namespace stallhound::record
