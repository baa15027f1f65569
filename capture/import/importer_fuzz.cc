// Any bytes as a file: told by content, unpacked, opened by whatever importer takes it, counted.

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <string>

#include "capture/import/importer.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace stallhound::capture;
  static const int fd = memfd_create("import", MFD_CLOEXEC);
  static const std::string path = "/proc/self/fd/" + std::to_string(fd);
  if (ftruncate(fd, 0) != 0 || pwrite(fd, data, size, 0) != static_cast<ssize_t>(size)) return 0;
  ImportOptions options;
  options.partial = size % 2 == 1;
  const auto count = [](ForeignFile file, bool) { return CountForeign(file).status(); };
  LeftOut left_out;
  (void)ForEachForeign(path, options, count, &left_out);
  return 0;
}
