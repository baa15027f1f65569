// Any bytes as an Nsight export: must end in an error or a reading, never in a crash.

#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "capture/import/nsys/nsys.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace stallhound::capture;
  // SQLite wants a path of the file system, which /proc/self/fd/N of a memory file leads to none of.
  static std::string path = (std::filesystem::temp_directory_path() / "stallhound-fuzz-XXXXXX").string();
  static const int fd = mkstemp(path.data());
  static const int removing = atexit([] { unlink(path.c_str()); });
  // The first byte chooses how the file is read.
  if (removing != 0 || size < 2 || ftruncate(fd, 0) != 0) return 0;
  if (pwrite(fd, data + 1, size - 1, 0) != static_cast<ssize_t>(size - 1)) return 0;
  const absl::StatusOr<ImportSources> sources = OpenSources(path, {.partial = data[0] % 2 == 1});
  if (!sources.ok()) return 0;
  const auto capture = NsysImporter().open(sources->sources.front());
  if (!capture.ok()) return 0;
  CaptureVisitor visitor;
  (void)(*capture)->Read(AllTables(), visitor);
  ImportCounts counts;
  (*capture)->AddFacts(counts);
  return 0;
}
