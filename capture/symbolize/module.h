#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace stallhound::capture {

// An ELF file as it was mapped in a recorded process.
struct Module {
  std::string path;
  std::vector<uint8_t> build_id;  // empty: it has none
  uint64_t begin = 0;             // lowest and past-highest mapped address
  uint64_t end = 0;
  uint64_t load_bias = 0;  // run-time address - ELF virtual address
};

}  // namespace stallhound::capture
