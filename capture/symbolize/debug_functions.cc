#include "capture/symbolize/debug_functions.h"

#include <cxxabi.h>
#include <dwarf.h>

#include <cstdlib>
#include <memory>
#include <utility>

namespace stallhound::capture {
namespace {

constexpr size_t kMostEntries = 16'000'000;
constexpr size_t kMostInlined = 128;  // at one address
constexpr int kMostDepth = 512;       // of blocks and inlined functions in a function
constexpr size_t kMostPrefix = 4096;  // characters before a function's own name
constexpr int kMostReferences = 16;   // from an inlined function to its declaration, as libdw's own limit

const char* LinkageName(Dwarf_Die& die) {
  Dwarf_Attribute attribute;
  for (const unsigned name : {DW_AT_linkage_name, DW_AT_MIPS_linkage_name}) {
    if (dwarf_attr_integrate(&die, name, &attribute) != nullptr) return dwarf_formstring(&attribute);
  }
  return nullptr;
}

bool HoldsFunctions(int tag) {
  return tag == DW_TAG_namespace || tag == DW_TAG_class_type || tag == DW_TAG_structure_type ||
         tag == DW_TAG_union_type || tag == DW_TAG_module;
}

bool IsCode(int tag) {
  return tag == DW_TAG_inlined_subroutine || tag == DW_TAG_lexical_block || tag == DW_TAG_try_block ||
         tag == DW_TAG_catch_block;
}

std::optional<uint64_t> Number(Dwarf_Die& die, unsigned name) {
  Dwarf_Attribute attribute;
  Dwarf_Word value = 0;
  if (dwarf_formudata(dwarf_attr(&die, name, &attribute), &value) != 0) return std::nullopt;
  return value;
}

void AddCall(Dwarf_Die& unit, Dwarf_Die& inlined, DebugFunction& function) {
  const std::optional<uint64_t> file = Number(inlined, DW_AT_call_file);
  const std::optional<uint64_t> line = Number(inlined, DW_AT_call_line);
  Dwarf_Files* files = nullptr;
  size_t file_count = 0;
  if (!file || dwarf_getsrcfiles(&unit, &files, &file_count) != 0) return;
  const char* path = dwarf_filesrc(files, *file, nullptr, nullptr);
  if (path == nullptr) return;
  function.call_file = path;
  if (line && *line > 0 && *line <= INT32_MAX) function.call_line = static_cast<int64_t>(*line);
}

}  // namespace

std::string Demangle(const char* name) {
  int status = 0;
  std::unique_ptr<char, decltype(&std::free)> demangled(abi::__cxa_demangle(name, nullptr, nullptr, &status),
                                                        &std::free);
  return status == 0 && demangled != nullptr ? demangled.get() : name;
}

bool DebugFunctions::Spend() {
  if (spent_count_ == kMostEntries) return false;
  ++spent_count_;
  return true;
}

std::optional<Dwarf_Die> DebugFunctions::DieAt(const std::vector<Range>& ranges, Dwarf_Addr address) {
  for (const Range& range : ranges) {
    if (address >= range.begin && address < range.end) return range.die;
  }
  return std::nullopt;
}

bool DebugFunctions::Holds(Dwarf_Die& die, Dwarf_Addr address) {
  Dwarf_Addr base = 0;
  Dwarf_Addr begin = 0;
  Dwarf_Addr end = 0;
  for (ptrdiff_t next = 0; (next = dwarf_ranges(&die, next, &base, &begin, &end)) > 0;) {
    if (!Spend()) return false;
    if (address >= begin && address < end) return true;
  }
  return false;
}

void DebugFunctions::AddRanges(Dwarf_Die& die, std::vector<Range>& ranges) {
  Range range{0, 0, die};
  Dwarf_Addr base = 0;
  for (ptrdiff_t next = 0; (next = dwarf_ranges(&die, next, &base, &range.begin, &range.end)) > 0;) {
    if (!Spend()) return;
    // The linker leaves 0 where it dropped a function that another file has too.
    if (range.begin != 0) ranges.push_back(range);
  }
}

std::optional<Dwarf_Die> DebugFunctions::UnitAt(Dwarf* dwarf, Dwarf_Addr address) {
  if (!units_) {
    units_.emplace();
    Dwarf_CU* unit = nullptr;
    Dwarf_Die die;
    while (dwarf_get_units(dwarf, unit, &unit, nullptr, nullptr, &die, nullptr) == 0 && Spend()) {
      if (dwarf_tag(&die) == DW_TAG_compile_unit) AddRanges(die, *units_);
    }
  }
  return DieAt(*units_, address);
}

const std::vector<DebugFunctions::Range>& DebugFunctions::RangesOf(Dwarf_Die& unit) {
  const auto [it, is_new] = ranges_.try_emplace(dwarf_dieoffset(&unit));
  if (!is_new) return it->second;
  std::vector<std::pair<Dwarf_Die, size_t>> open = {{unit, 0}};
  while (!open.empty()) {
    auto [parent, scope] = open.back();
    open.pop_back();
    Dwarf_Die child;
    for (int end = dwarf_child(&parent, &child); end == 0 && Spend(); end = dwarf_siblingof(&child, &child)) {
      const int tag = dwarf_tag(&child);
      if (tag == DW_TAG_subprogram) {
        AddRanges(child, it->second);
        if (scope != 0 && LinkageName(child) == nullptr) scope_of_[dwarf_dieoffset(&child)] = scope;
      }
      if (!HoldsFunctions(tag) || !dwarf_haschildren(&child)) continue;
      open.emplace_back(child, scopes_.size());
      const char* name = dwarf_diename(&child);
      const char* no_name = tag == DW_TAG_namespace ? "(anonymous namespace)" : "(anonymous class)";
      scopes_.push_back({scope, name == nullptr ? no_name : name});
    }
  }
  return it->second;
}

// An inlined function refers to its declaration, which lies in its namespace or class.
std::string DebugFunctions::PrefixOf(Dwarf_Die function) const {
  std::string prefix;
  for (int i = 0; i < kMostReferences; ++i) {
    if (const auto it = scope_of_.find(dwarf_dieoffset(&function)); it != scope_of_.end()) {
      for (size_t scope = it->second; scope != 0 && prefix.size() < kMostPrefix; scope = scopes_[scope].parent) {
        prefix.insert(0, std::string(scopes_[scope].name) + "::");
      }
      break;
    }
    Dwarf_Attribute attribute;
    Dwarf_Attribute* reference = dwarf_attr(&function, DW_AT_abstract_origin, &attribute);
    if (reference == nullptr) reference = dwarf_attr(&function, DW_AT_specification, &attribute);
    Dwarf_Die next;
    if (dwarf_formref_die(reference, &next) == nullptr) break;
    function = next;
  }
  return prefix;
}

std::optional<std::string> DebugFunctions::NameOf(Dwarf_Die& function) const {
  if (const char* name = LinkageName(function)) return Demangle(name);
  const char* name = dwarf_diename(&function);
  if (name == nullptr) return std::nullopt;
  return PrefixOf(function) + name;
}

// Outermost first: the function with a symbol, then what was inlined.
std::vector<Dwarf_Die> DebugFunctions::ChainAt(Dwarf_Die& unit, Dwarf_Addr address) {
  const std::optional<Dwarf_Die> function = DieAt(RangesOf(unit), address);
  if (!function) return {};
  std::vector<Dwarf_Die> chain = {*function};
  Dwarf_Die scope = *function;
  bool is_deeper = true;
  for (int depth = 0; is_deeper && depth < kMostDepth && chain.size() < kMostInlined; ++depth) {
    is_deeper = false;
    Dwarf_Die child;
    for (int end = dwarf_child(&scope, &child); end == 0 && Spend(); end = dwarf_siblingof(&child, &child)) {
      const int tag = dwarf_tag(&child);
      if (!IsCode(tag) || !Holds(child, address)) continue;
      if (tag == DW_TAG_inlined_subroutine) chain.push_back(child);
      scope = child;
      is_deeper = true;
      break;
    }
  }
  return chain;
}

std::vector<DebugFunction> DebugFunctions::At(Dwarf_Die& unit, Dwarf_Addr address) {
  std::vector<Dwarf_Die> chain = ChainAt(unit, address);
  std::vector<DebugFunction> functions;
  for (size_t i = chain.size(); i-- > 0;) {
    DebugFunction& function = functions.emplace_back();
    function.name = NameOf(chain[i]);
    if (const char* file = dwarf_decl_file(&chain[i])) function.file = file;
    if (i > 0) AddCall(unit, chain[i], function);
  }
  return functions;
}

}  // namespace stallhound::capture
