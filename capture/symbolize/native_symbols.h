#pragma once

// Names of native addresses, found after the run with elfutils' libdw in the files that were mapped.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "capture/symbolize/module.h"

namespace stallhound::capture {

struct NativeLocation {
  std::optional<std::string> function;       // demangled
  std::optional<std::string> function_file;  // where it is declared
  std::optional<std::string> file;
  std::optional<int64_t> line;
  std::optional<std::string> module;      // path of the mapped file
  std::optional<uint64_t> module_offset;  // ELF virtual address: works with addr2line
};

// Not thread-safe. A module's file is opened when one of its addresses is first asked for, which can cost tens of
// milliseconds for a large library; a file that is gone, or whose build id has changed, gives module and offset only.
// Every address is looked up anew, about 0.1 ms each in a program of 14 MB with -g1: ask once.
class NativeSymbolizer {
 public:
  explicit NativeSymbolizer(std::vector<Module> modules);
  ~NativeSymbolizer();

  // `address` is inside a call instruction's successor (a return address): the call itself is looked up. At least one
  // location, innermost first: those before the last are functions that the compiler inlined, as `addr2line -i` says.
  std::vector<NativeLocation> Resolve(uint64_t address);

 private:
  struct OpenModule;
  const Module* FindModule(uint64_t address) const;

  std::vector<Module> modules_;  // by begin
  std::vector<std::unique_ptr<OpenModule>> open_;
};

}  // namespace stallhound::capture
