// Any bytes as an Nsight export: must end in an error or a reading, never in a crash.

#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

#include "capture/import/nsys/nsys.h"

namespace {

void Import(const std::string& path, bool partial) {
  using namespace stallhound::capture;
  const absl::StatusOr<ImportSources> sources = OpenSources(path, {.partial = partial});
  if (!sources.ok()) return;
  const auto capture = NsysImporter().open(sources->sources.front());
  if (!capture.ok()) return;
  CaptureVisitor visitor;
  (void)(*capture)->Read(AllTables(), visitor);
  ImportCounts counts;
  (*capture)->AddFacts(counts);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  // SQLite opens no memory file: the name that /proc/self/fd leads to is not in the file system.
  static const std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("stallhound-fuzz-" + std::to_string(getpid()));
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(data + 1), static_cast<std::streamsize>(size - 1));
  // The first byte chooses how the file is read.
  Import(path.string(), data[0] % 2 == 1);
  std::filesystem::remove(path);
  return 0;
}
