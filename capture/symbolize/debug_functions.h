#pragma once

// The functions whose code lies at an address, those that the compiler inlined there too, from DWARF.

#include <elfutils/libdw.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace stallhound::capture {

// "ns::F(int)" for "_ZN2ns1FEi"; any other text as it is.
std::string Demangle(const char* name);

struct DebugFunction {
  std::optional<std::string> name;  // demangled; without parameters where a function has no linkage name
  std::optional<std::string> file;  // where it is declared
  // Where it was inlined into the function outside it; unknown for one that has a symbol.
  std::optional<std::string> call_file;
  std::optional<int64_t> call_line;
};

// Of one ELF file, whose Dwarf outlives it. Not thread-safe. The first address of a compilation unit costs a pass over
// its namespaces, classes and functions; a later one a pass over the entries of one function. All passes together look
// at 16 million entries and address ranges at most, then nothing more is found: a damaged file cannot keep it busy.
class DebugFunctions {
 public:
  // The compilation unit with code at `address`, by the ranges of all units: GCC lists them in .debug_aranges, Clang
  // does not. The first call costs a pass over the units.
  std::optional<Dwarf_Die> UnitAt(Dwarf* dwarf, Dwarf_Addr address);

  // Innermost first, the last one not inlined; empty if the unit says nothing about `address` (of the unit's file).
  std::vector<DebugFunction> At(Dwarf_Die& unit, Dwarf_Addr address);

 private:
  struct Range {
    Dwarf_Addr begin;
    Dwarf_Addr end;
    Dwarf_Die die;
  };
  struct Scope {  // a namespace or a class
    size_t parent;
    const char* name;
  };
  static std::optional<Dwarf_Die> DieAt(const std::vector<Range>& ranges, Dwarf_Addr address);
  bool Spend();
  bool Holds(Dwarf_Die& die, Dwarf_Addr address);
  const std::vector<Range>& RangesOf(Dwarf_Die& unit);
  void AddRanges(Dwarf_Die& die, std::vector<Range>& ranges);
  std::vector<Dwarf_Die> ChainAt(Dwarf_Die& unit, Dwarf_Addr address);
  std::optional<std::string> NameOf(Dwarf_Die& function) const;
  std::string PrefixOf(Dwarf_Die function) const;

  std::optional<std::vector<Range>> units_;                   // once asked for
  std::unordered_map<Dwarf_Off, std::vector<Range>> ranges_;  // of functions, by unit
  std::vector<Scope> scopes_ = {{0, nullptr}};                // the first is the unit's own
  std::unordered_map<Dwarf_Off, size_t> scope_of_;            // of functions without a linkage name
  size_t spent_count_ = 0;
};

}  // namespace stallhound::capture
