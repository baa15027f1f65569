#include "capture/symbolize/native_symbols.h"

#include <gtest/gtest.h>
#include <link.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <string>

#include "base/testing/temp_dir.h"

// Its return address is what a stack walk would find.
namespace traced {
__attribute__((noinline)) uint64_t ReturnAddressOfCaller() {
  return reinterpret_cast<uint64_t>(__builtin_return_address(0));
}
constexpr int kCallLine = __LINE__ + 2;
__attribute__((noinline)) uint64_t CallerOfThis(int) {
  const uint64_t address = ReturnAddressOfCaller();
  asm volatile("" ::: "memory");  // keeps the call from becoming a jump
  return address;
}
}  // namespace traced

namespace stallhound::capture {
namespace {

// This test's own executable as a recorder describes it.
Module OwnModule() {
  Module module;
  char path[4096];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path);
  module.path.assign(path, static_cast<size_t>(length));
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* context) {
        auto& out = *static_cast<Module*>(context);
        out.load_bias = info->dlpi_addr;
        out.begin = UINT64_MAX;
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          const auto& header = info->dlpi_phdr[i];
          const uint64_t start = info->dlpi_addr + header.p_vaddr;
          if (header.p_type == PT_LOAD) {
            out.begin = std::min<uint64_t>(out.begin, start);
            out.end = std::max<uint64_t>(out.end, start + header.p_memsz);
          }
          if (header.p_type != PT_NOTE) continue;
          for (uint64_t at = start; at + sizeof(ElfW(Nhdr)) <= start + header.p_memsz;) {
            const auto* note = reinterpret_cast<const ElfW(Nhdr)*>(at);
            const uint64_t name = at + sizeof(*note);
            const uint64_t data = name + ((note->n_namesz + 3u) & ~3u);
            if (note->n_type == NT_GNU_BUILD_ID && strcmp(reinterpret_cast<const char*>(name), "GNU") == 0) {
              const auto* id = reinterpret_cast<const uint8_t*>(data);
              out.build_id.assign(id, id + note->n_descsz);
            }
            at = data + ((note->n_descsz + 3u) & ~3u);
          }
        }
        return 1;  // the first is the executable
      },
      &module);
  return module;
}

TEST(NativeSymbolizerTest, NamesFunctionFileAndLine) {
  NativeSymbolizer symbolizer({OwnModule()});
  const NativeLocation location = symbolizer.Resolve(traced::CallerOfThis(1));
  EXPECT_EQ(location.function, "traced::CallerOfThis(int)");
  ASSERT_TRUE(location.file.has_value());
  EXPECT_TRUE(location.file->ends_with("capture/symbolize/native_symbols_test.cc")) << *location.file;
  EXPECT_EQ(location.line, traced::kCallLine);
  EXPECT_EQ(location.module, OwnModule().path);
}

TEST(NativeSymbolizerTest, AnotherBuildGivesModuleAndOffset) {
  Module module = OwnModule();
  module.build_id.assign(20, 0xab);
  NativeSymbolizer symbolizer({module});
  const uint64_t address = traced::CallerOfThis(1);
  const NativeLocation location = symbolizer.Resolve(address);
  EXPECT_EQ(location.function, std::nullopt);
  EXPECT_EQ(location.line, std::nullopt);
  EXPECT_EQ(location.module, module.path);
  EXPECT_EQ(location.module_offset, address - 1 - module.load_bias);
}

TEST(NativeSymbolizerTest, UnusableFilesGiveModuleAndOffset) {
  testing::TempDir temp;
  const std::string pipe = temp.File("pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  for (const std::string& path :
       {std::string("/nonexistent/lib.so"), temp.Write("text.so", "no ELF file"), temp.path(), pipe, std::string()}) {
    Module module;
    module.path = path;
    module.begin = 0x1000;
    module.end = 0x2000;
    module.load_bias = 0x1000;
    NativeSymbolizer symbolizer({module});
    const NativeLocation location = symbolizer.Resolve(0x1801);
    EXPECT_EQ(location.function, std::nullopt) << path;
    EXPECT_EQ(location.module_offset, 0x800u) << path;
  }
}

TEST(NativeSymbolizerTest, AnAddressOutsideAllModulesIsUnknown) {
  NativeSymbolizer empty({});
  EXPECT_EQ(empty.Resolve(0x1234).module, std::nullopt);
  NativeSymbolizer symbolizer({OwnModule()});
  EXPECT_EQ(symbolizer.Resolve(0).module, std::nullopt);
  EXPECT_EQ(symbolizer.Resolve(1).module, std::nullopt);
  EXPECT_EQ(symbolizer.Resolve(UINT64_MAX).module, std::nullopt);
  // The first byte after a module belongs to its last call's return address.
  EXPECT_EQ(symbolizer.Resolve(OwnModule().end + 1).module, std::nullopt);
}

}  // namespace
}  // namespace stallhound::capture
