// Any bytes as a spool: must end in an error or a reading, never in a crash.

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <string>

#include "capture/spool/reader.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const int fd = memfd_create("spool", MFD_CLOEXEC);
  if (ftruncate(fd, 0) != 0 || pwrite(fd, data, size, 0) != static_cast<ssize_t>(size)) return 0;
  static const std::string path = "/proc/self/fd/" + std::to_string(fd);
  auto reader = stallhound::capture::OpenSpools({path});
  if (!reader.ok()) return 0;
  stallhound::capture::CaptureVisitor visitor;
  (void)(*reader)->Read(stallhound::capture::AllTables(), visitor);
  return 0;
}
