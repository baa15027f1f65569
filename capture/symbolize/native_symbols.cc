#include "capture/symbolize/native_symbols.h"

#include <elfutils/libdwfl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "capture/symbolize/debug_functions.h"

namespace stallhound::capture {
namespace {

constexpr Dwfl_Callbacks kCallbacks = {
    .find_elf = nullptr,
    .find_debuginfo = dwfl_standard_find_debuginfo,
    .section_address = dwfl_offline_section_address,
    .debuginfo_path = nullptr,
};

bool HasBuildId(Dwfl_Module* module, const std::vector<uint8_t>& wanted) {
  if (wanted.empty()) return true;
  const unsigned char* bits = nullptr;
  GElf_Addr address = 0;
  const int size = dwfl_module_build_id(module, &bits, &address);
  return size == static_cast<int>(wanted.size()) && std::memcmp(bits, wanted.data(), wanted.size()) == 0;
}

void SetLine(Dwarf_Die& unit, Dwarf_Addr address, NativeLocation& location) {
  Dwarf_Line* line = dwarf_getsrc_die(&unit, address);
  int number = 0;
  const char* file = dwarf_linesrc(line, nullptr, nullptr);
  if (file == nullptr) return;
  location.file = file;
  if (dwarf_lineno(line, &number) == 0 && number > 0) location.line = number;
}

}  // namespace

struct NativeSymbolizer::OpenModule {
  struct End {
    void operator()(Dwfl* dwfl) const { dwfl_end(dwfl); }
  };
  std::unique_ptr<Dwfl, End> session;
  Dwfl_Module* module = nullptr;  // null: the file cannot be used
  DebugFunctions functions;

  explicit OpenModule(const Module& image) : session(dwfl_begin(&kCallbacks)) {
    // A spool names any path: opening a pipe or a device could block for ever.
    struct stat status {};
    const bool is_file = stat(image.path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
    if (session == nullptr || !is_file) return;
    dwfl_report_begin(session.get());
    module = dwfl_report_elf(session.get(), image.path.c_str(), image.path.c_str(), -1, image.load_bias, true);
    dwfl_report_end(session.get(), nullptr, nullptr);
    if (module != nullptr && !HasBuildId(module, image.build_id)) module = nullptr;
  }
};

NativeSymbolizer::NativeSymbolizer(std::vector<Module> modules) : modules_(std::move(modules)) {
  std::sort(modules_.begin(), modules_.end(), [](const Module& a, const Module& b) { return a.begin < b.begin; });
  open_.resize(modules_.size());
}

NativeSymbolizer::~NativeSymbolizer() = default;

const Module* NativeSymbolizer::FindModule(uint64_t address) const {
  auto it = std::upper_bound(modules_.begin(), modules_.end(), address,
                             [](uint64_t value, const Module& module) { return value < module.begin; });
  if (it == modules_.begin()) return nullptr;
  --it;
  return address < it->end ? &*it : nullptr;
}

std::vector<NativeLocation> NativeSymbolizer::Resolve(uint64_t address) {
  NativeLocation place;
  const uint64_t call = address - 1;
  const Module* module = FindModule(call);
  if (module == nullptr) return {place};
  place.module = module->path;
  place.module_offset = call - module->load_bias;
  auto& open = open_[static_cast<size_t>(module - modules_.data())];
  if (open == nullptr) open = std::make_unique<OpenModule>(*module);
  if (open->module == nullptr) return {place};

  Dwarf_Addr bias = 0;
  std::optional<Dwarf_Die> unit;
  if (const Dwarf_Die* listed = dwfl_module_addrdie(open->module, call, &bias)) {
    unit = *listed;
  } else if (Dwarf* dwarf = dwfl_module_getdwarf(open->module, &bias)) {
    unit = open->functions.UnitAt(dwarf, call - bias);
  }
  std::vector<DebugFunction> functions;
  if (unit) functions = open->functions.At(*unit, call - bias);
  std::vector<NativeLocation> locations(std::max<size_t>(functions.size(), 1), place);
  for (size_t i = 0; i < functions.size(); ++i) {
    locations[i].function = std::move(functions[i].name);
    locations[i].function_file = std::move(functions[i].file);
    if (i + 1 == functions.size()) continue;
    locations[i + 1].file = std::move(functions[i].call_file);
    locations[i + 1].line = functions[i].call_line;
  }
  if (unit) SetLine(*unit, call - bias, locations.front());
  if (const char* name = dwfl_module_addrname(open->module, call)) locations.back().function = Demangle(name);
  return locations;
}

}  // namespace stallhound::capture
