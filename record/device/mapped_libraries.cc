#include "record/device/mapped_libraries.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace stallhound::record {
namespace {

constexpr size_t kMaxVersionBytes = 64;

// A pure version function: no handle, no CUDA call.
struct VersionFunction {
  enum class Form { kNone, kReturnsSize, kFillsInt } form = Form::kNone;
  const char* symbol = nullptr;
  // The number's decimal places: major * major_unit + minor * minor_unit + patch.
  int major_unit = 0;
  int minor_unit = 0;
};

struct KnownLibrary {
  const char* name;
  const char* file;  // up to and with ".so"
  VersionFunction function;
};

using Form = VersionFunction::Form;
constexpr KnownLibrary kKnownLibraries[] = {
    {"cudart", "libcudart.so", {}},
    {"cublas", "libcublas.so", {}},
    {"cublaslt", "libcublasLt.so", {Form::kReturnsSize, "cublasLtGetVersion", 10000, 100}},
    {"cudnn", "libcudnn.so", {Form::kReturnsSize, "cudnnGetVersion", 10000, 100}},
    {"nccl", "libnccl.so", {Form::kFillsInt, "ncclGetVersion", 10000, 100}},
    {"cufft", "libcufft.so", {}},
    {"cusparse", "libcusparse.so", {}},
    {"cusolver", "libcusolver.so", {}},
    {"nvrtc", "libnvrtc.so", {}},
    {"torch", "libtorch_cpu.so", {}},
};
constexpr size_t kKnownCount = sizeof(kKnownLibraries) / sizeof(kKnownLibraries[0]);

struct FoundPaths {
  char paths[kKnownCount][PATH_MAX];
};

int CollectPath(dl_phdr_info* info, size_t, void* argument) {
  auto& found = *static_cast<FoundPaths*>(argument);
  const char* slash = info->dlpi_name != nullptr ? strrchr(info->dlpi_name, '/') : nullptr;
  if (slash == nullptr) return 0;
  for (size_t i = 0; i < kKnownCount; ++i) {
    const size_t length = strlen(kKnownLibraries[i].file);
    const bool matches = strncmp(slash + 1, kKnownLibraries[i].file, length) == 0 &&
                         (slash[1 + length] == '\0' || slash[1 + length] == '.');
    if (!matches || found.paths[i][0] != '\0') continue;
    snprintf(found.paths[i], sizeof(found.paths[i]), "%s", info->dlpi_name);
  }
  return 0;
}

bool AskLibrary(const char* path, const VersionFunction& function, char (&version)[kMaxVersionBytes]) {
  if (function.form == Form::kNone) return false;
  void* library = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return false;
  void* symbol = dlsym(library, function.symbol);
  long long number = 0;
  if (symbol != nullptr && function.form == Form::kReturnsSize) {
    number = static_cast<long long>(reinterpret_cast<size_t (*)()>(symbol)());
  } else if (symbol != nullptr) {
    int value = 0;
    if (reinterpret_cast<int (*)(int*)>(symbol)(&value) == 0) number = value;
  }
  dlclose(library);
  if (number <= 0) return false;
  // cuDNN 8 and before counted a major version as 1000.
  const int major_unit = number < function.major_unit ? function.major_unit / 10 : function.major_unit;
  snprintf(version, sizeof(version), "%lld.%lld.%lld", number / major_unit, number % major_unit / function.minor_unit,
           number % function.minor_unit);
  return true;
}

bool ReadFileName(const char* path, char (&version)[kMaxVersionBytes]) {
  char resolved[PATH_MAX];
  if (realpath(path, resolved) == nullptr) return false;
  const char* suffix = strstr(resolved, ".so.");
  if (suffix == nullptr || suffix[4] == '\0') return false;
  snprintf(version, sizeof(version), "%s", suffix + 4);
  return true;
}

// The text between `prefix` and `end` in the file, or its first line without a prefix.
bool ReadVersionFile(const char* path, const char* prefix, char end, char (&version)[kMaxVersionBytes]) {
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  char content[512];
  const ssize_t bytes = read(file, content, sizeof(content) - 1);
  close(file);
  if (bytes <= 0) return false;
  content[bytes] = '\0';
  const char* begin = strstr(content, prefix);
  if (begin == nullptr) return false;
  begin += strlen(prefix);
  const char* stop = strchr(begin, end);
  if (stop == nullptr || stop == begin || static_cast<size_t>(stop - begin) >= sizeof(version)) return false;
  snprintf(version, sizeof(version), "%.*s", static_cast<int>(stop - begin), begin);
  return true;
}

// torch/lib/libtorch_cpu.so: the wheel has torch/version.py, a C++ distribution torch/build-version.
bool ReadTorchVersion(const char* path, char (&version)[kMaxVersionBytes]) {
  const char* slash = strrchr(path, '/');
  const int folder = static_cast<int>(slash - path);
  char file[PATH_MAX + 32];
  snprintf(file, sizeof(file), "%.*s/../version.py", folder, path);
  if (ReadVersionFile(file, "__version__ = '", '\'', version)) return true;
  snprintf(file, sizeof(file), "%.*s/../build-version", folder, path);
  return ReadVersionFile(file, "", '\n', version);
}

}  // namespace

void VisitMappedLibraries(void (*visit)(void* context, const char* name, const char* version), void* context) {
  static FoundPaths found;  // too large for a stack; one thread calls this
  memset(&found, 0, sizeof(found));
  dl_iterate_phdr(CollectPath, &found);
  for (size_t i = 0; i < kKnownCount; ++i) {
    const char* path = found.paths[i];
    if (path[0] == '\0') continue;
    char version[kMaxVersionBytes];
    const bool is_torch = strcmp(kKnownLibraries[i].name, "torch") == 0;
    if ((is_torch && ReadTorchVersion(path, version)) || AskLibrary(path, kKnownLibraries[i].function, version) ||
        ReadFileName(path, version)) {
      visit(context, kKnownLibraries[i].name, version);
    }
  }
}

}  // namespace stallhound::record
