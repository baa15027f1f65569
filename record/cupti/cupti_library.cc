#include "record/cupti/cupti_library.h"

#include <dirent.h>
#include <dlfcn.h>
#include <link.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

namespace stallhound::record {
namespace {

const char* BaseName(const char* path) {
  const char* slash = strrchr(path, '/');
  return slash == nullptr ? path : slash + 1;
}

void CopyPath(char (&target)[PATH_MAX], const char* path) { snprintf(target, sizeof(target), "%s", path); }

int VisitLibrary(dl_phdr_info* info, size_t, void* data) {
  MappedLibraries& mapped = *static_cast<MappedLibraries*>(data);
  if (info->dlpi_name == nullptr) return 0;
  const char* name = BaseName(info->dlpi_name);
  if (strncmp(name, "libcudart.so", 12) == 0 && mapped.cudart[0] == '\0') CopyPath(mapped.cudart, info->dlpi_name);
  if (strncmp(name, "libcupti.so", 11) != 0 || mapped.cupti_count == 2) return 0;
  if (mapped.cupti_count == 1 && strcmp(mapped.cupti[0], info->dlpi_name) == 0) return 0;
  CopyPath(mapped.cupti[mapped.cupti_count++], info->dlpi_name);
  return 0;
}

// Adds `format` filled in; files that do not exist are left out, but a bare file name is left to the loader.
__attribute__((format(printf, 2, 3))) void Add(CuptiCandidates& candidates, const char* format, ...) {
  if (candidates.count == kMaxCuptiCandidates) return;
  char(&path)[PATH_MAX] = candidates.paths[candidates.count];
  va_list arguments;
  va_start(arguments, format);
  const int length = vsnprintf(path, sizeof(path), format, arguments);
  va_end(arguments);
  if (length <= 0 || length >= PATH_MAX) return;
  if (strchr(path, '/') != nullptr && access(path, R_OK) != 0) return;
  for (int i = 0; i < candidates.count; ++i) {
    if (strcmp(candidates.paths[i], path) == 0) return;
  }
  ++candidates.count;
}

void AddToolkit(CuptiCandidates& candidates, const char* root, int major) {
  Add(candidates, "%s/extras/CUPTI/lib64/libcupti.so.%d", root, major);
  Add(candidates, "%s/lib64/libcupti.so.%d", root, major);
}

// libcudart.so.12 beside libcupti.so.12 (toolkit, conda, CUDA 13's wheels), else in the neighbouring wheel of CUDA 12.
void AddBesideCudart(CuptiCandidates& candidates, const char* cudart) {
  const int major = atoi(BaseName(cudart) + strlen("libcudart.so."));
  char folder[PATH_MAX];
  if (major <= 0 || realpath(cudart, folder) == nullptr) return;
  *strrchr(folder, '/') = '\0';
  Add(candidates, "%s/libcupti.so.%d", folder, major);
  Add(candidates, "%s/../extras/CUPTI/lib64/libcupti.so.%d", folder, major);
  Add(candidates, "%s/../../../extras/CUPTI/lib64/libcupti.so.%d", folder, major);
  Add(candidates, "%s/../../cuda_cupti/lib/libcupti.so.%d", folder, major);
}

// The newest <local>/cuda-<major>.<minor>.
void AddNewestToolkit(CuptiCandidates& candidates, const char* local, int major) {
  DIR* folder = opendir(local);
  if (folder == nullptr) return;
  int newest = -1;
  while (const dirent* entry = readdir(folder)) {
    int found_major = 0;
    int minor = 0;
    if (sscanf(entry->d_name, "cuda-%d.%d", &found_major, &minor) == 2 && found_major == major && minor > newest) {
      newest = minor;
    }
  }
  closedir(folder);
  char root[PATH_MAX];
  if (newest < 0 || snprintf(root, sizeof(root), "%s/cuda-%d.%d", local, major, newest) >= PATH_MAX) return;
  AddToolkit(candidates, root, major);
}

int DriverVersion() {
  using DriverGetVersion = int (*)(int*);
  void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  if (driver == nullptr) return 0;
  const auto get_version = reinterpret_cast<DriverGetVersion>(dlsym(driver, "cuDriverGetVersion"));
  int version = 0;
  if (get_version == nullptr || get_version(&version) != 0) version = 0;
  dlclose(driver);
  return version;
}

}  // namespace

MappedLibraries FindMappedLibraries() noexcept {
  MappedLibraries mapped{};
  dl_iterate_phdr(VisitLibrary, &mapped);
  return mapped;
}

bool HasTwoCupti() noexcept { return FindMappedLibraries().cupti_count > 1; }

void ListCuptiCandidates(const MappedLibraries& mapped, const char* chosen, int driver_version, const char* local,
                         CuptiCandidates& candidates) noexcept {
  candidates.count = 0;
  if (chosen != nullptr && chosen[0] != '\0') Add(candidates, "%s", chosen);
  if (mapped.cudart[0] != '\0') AddBesideCudart(candidates, mapped.cudart);
  const int major = driver_version / 1000;
  if (major <= 0) return;
  char root[PATH_MAX];
  if (snprintf(root, sizeof(root), "%s/cuda-%d", local, major) < PATH_MAX) AddToolkit(candidates, root, major);
  if (snprintf(root, sizeof(root), "%s/cuda", local) < PATH_MAX) AddToolkit(candidates, root, major);
  AddNewestToolkit(candidates, local, major);
  Add(candidates, "libcupti.so.%d", major);
}

bool OpenCupti(const char* chosen, CuptiLibrary& library) noexcept {
  const MappedLibraries mapped = FindMappedLibraries();
  library.has_two_copies = mapped.cupti_count > 1;
  if (mapped.cupti_count > 0) {
    library.handle = dlopen(mapped.cupti[0], RTLD_NOW | RTLD_NOLOAD);
    CopyPath(library.path, mapped.cupti[0]);
    if (library.handle != nullptr) return true;
  }
  CuptiCandidates candidates;
  ListCuptiCandidates(mapped, chosen, DriverVersion(), "/usr/local", candidates);
  for (int i = 0; i < candidates.count; ++i) {
    library.handle = dlopen(candidates.paths[i], RTLD_NOW | RTLD_LOCAL);
    if (library.handle == nullptr) continue;
    CopyPath(library.path, candidates.paths[i]);
    return true;
  }
  library.path[0] = '\0';
  return false;
}

}  // namespace stallhound::record
