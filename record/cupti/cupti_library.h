#pragma once

// Which libcupti to use. A process can hold two copies (PyTorch's and the toolkit's); only the one that the program
// itself uses, or one that fits its CUDA runtime, is right.

#include <limits.h>

#include <cstddef>

namespace stallhound::record {

inline constexpr int kMaxCuptiCandidates = 16;

struct CuptiCandidates {
  char paths[kMaxCuptiCandidates][PATH_MAX];
  int count;
};

// Paths of mapped libraries that the choice depends on.
struct MappedLibraries {
  char cupti[2][PATH_MAX];  // the first two different files named libcupti.so*
  int cupti_count;
  char cudart[PATH_MAX];  // "" if none
};

MappedLibraries FindMappedLibraries() noexcept;

// What to try with dlopen when no libcupti is mapped, in order: `chosen` (STALLHOUND_CUPTI, may be null), beside the
// mapped libcudart, the toolkit of the driver's major version. `driver_version` as cuDriverGetVersion gives it, 0 if
// unknown. `local` is the folder of installed toolkits (/usr/local).
void ListCuptiCandidates(const MappedLibraries& mapped, const char* chosen, int driver_version, const char* local,
                         CuptiCandidates& candidates) noexcept;

struct CuptiLibrary {
  void* handle = nullptr;  // of dlopen; never closed
  char path[PATH_MAX] = {};
  bool has_two_copies = false;
};

// Opens the library by the rules above. False: none.
bool OpenCupti(const char* chosen, CuptiLibrary& library) noexcept;

// Whether two different copies of libcupti are mapped by now.
bool HasTwoCupti() noexcept;

}  // namespace stallhound::record
