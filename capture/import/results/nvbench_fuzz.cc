// Any bytes: must end in an error or results, never in a crash.

#include <cstdint>
#include <string_view>

#include "capture/import/results/nvbench.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  (void)stallhound::capture::ParseNvbench(std::string_view(reinterpret_cast<const char*>(data), size));
  return 0;
}
