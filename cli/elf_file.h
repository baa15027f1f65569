#pragma once

// The few facts of an ELF file that decide whether a library can be injected into it (ELF specification, <elf.h>).

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stallhound::cli {

struct ElfFacts {
  int bits = 64;
  int machine = 0;                         // EM_X86_64, EM_AARCH64, ...
  std::optional<std::string> interpreter;  // the dynamic loader; nullopt: static, or a library
  std::vector<std::string> needed;         // DT_NEEDED
};

// nullopt if the bytes are no 64- or 32-bit little-endian ELF file, or are damaged. For 32-bit files `bits` and
// `machine` alone are filled.
std::optional<ElfFacts> ParseElf(std::string_view bytes);

// "x86-64", "aarch64", ...
std::string MachineName(int machine);

}  // namespace stallhound::cli
