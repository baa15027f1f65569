#include "capture/symbolize/native_symbols.h"

#include <elf.h>
#include <gtest/gtest.h>
#include <string.h>
#include <sys/stat.h>

#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/testing/temp_dir.h"
#include "capture/symbolize/traced_calls.h"

namespace traced {
constexpr int kCallLine = __LINE__ + 2;
__attribute__((noinline)) uint64_t CallerOfThis(int) {
  const uint64_t address = stallhound::capture::ReturnAddressOfCaller();
  asm volatile("" ::: "memory");  // keeps the call from becoming a jump
  return address;
}
}  // namespace traced

namespace stallhound::capture {
namespace {

constexpr char kTensorBody[] = "/opt/libtorch/include/ATen/core/TensorBody.h";

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Offset and size of the sections of an ELF file that hold entries, ranges and lines.
std::vector<std::pair<size_t, size_t>> DebugSections(const std::string& bytes) {
  Elf64_Ehdr header;
  memcpy(&header, bytes.data(), sizeof header);
  std::vector<Elf64_Shdr> sections(header.e_shnum);
  memcpy(sections.data(), bytes.data() + header.e_shoff, sections.size() * sizeof(Elf64_Shdr));
  std::vector<std::pair<size_t, size_t>> result;
  for (const Elf64_Shdr& section : sections) {
    const std::string name = bytes.data() + sections[header.e_shstrndx].sh_offset + section.sh_name;
    for (const char* wanted : {".debug_info", ".debug_abbrev", ".debug_rnglists", ".debug_line"}) {
      if (name == wanted) result.emplace_back(section.sh_offset, section.sh_size);
    }
  }
  return result;
}

TEST(NativeSymbolizerTest, NamesFunctionFileAndLine) {
  NativeSymbolizer symbolizer({OwnModule()});
  const std::vector<NativeLocation> locations = symbolizer.Resolve(traced::CallerOfThis(1));
  ASSERT_EQ(locations.size(), 1u);
  const NativeLocation& location = locations[0];
  EXPECT_EQ(location.function, "traced::CallerOfThis(int)");
  ASSERT_TRUE(location.file.has_value());
  EXPECT_TRUE(location.file->ends_with("capture/symbolize/native_symbols_test.cc")) << *location.file;
  EXPECT_EQ(location.function_file, location.file);
  EXPECT_EQ(location.line, traced::kCallLine);
  EXPECT_EQ(location.module, OwnModule().path);
}

TEST(NativeSymbolizerTest, NamesInlinedFunctionsInnermostFirst) {
  NativeSymbolizer symbolizer({OwnModule()});
  const uint64_t address = traced::Step(1);
  for (int again = 0; again < 2; ++again) {
    const std::vector<NativeLocation> locations = symbolizer.Resolve(address);
    ASSERT_EQ(locations.size(), 3u);
    EXPECT_EQ(locations[0].function, "at::Item()");
    EXPECT_EQ(locations[0].file, kTensorBody);
    EXPECT_EQ(locations[0].line, 4310);
    EXPECT_EQ(locations[1].function, "traced::(anonymous namespace)::Read") << "it has no linkage name";
    EXPECT_EQ(locations[1].function_file, "/srv/project/read.h");
    EXPECT_EQ(locations[1].file, "/srv/project/read.h");
    EXPECT_EQ(locations[1].line, 10);
    EXPECT_EQ(locations[2].function, "traced::Step(int)");
    EXPECT_EQ(locations[2].file, "/srv/project/step.cc");
    EXPECT_EQ(locations[2].line, 20);
    for (const NativeLocation& location : locations) {
      EXPECT_EQ(location.module, OwnModule().path);
      EXPECT_EQ(location.module_offset, address - 1 - OwnModule().load_bias);
    }
  }
}

// As Clang writes files.
TEST(NativeSymbolizerTest, FindsUnitsThatNoTableLists) {
  testing::TempDir temp;
  Module module = OwnModule();
  std::string bytes = ReadFile(module.path);
  const std::string table = ".debug_aranges";
  size_t at = bytes.find(table);
  ASSERT_NE(at, std::string::npos);
  for (; at != std::string::npos; at = bytes.find(table, at)) bytes[at + 1] = 'x';
  module.path = temp.Write("without_table", bytes);
  NativeSymbolizer symbolizer({module});
  const std::vector<NativeLocation> locations = symbolizer.Resolve(traced::Step(1));
  ASSERT_EQ(locations.size(), 3u);
  EXPECT_EQ(locations[0].line, 4310);
  EXPECT_EQ(locations[2].file, "/srv/project/step.cc");
  EXPECT_EQ(symbolizer.Resolve(traced::StepWithoutLines(1)).at(0).line, std::nullopt);
}

TEST(NativeSymbolizerTest, SaysWhereAFunctionIsDeclaredIfItsLineLiesElsewhere) {
  NativeSymbolizer symbolizer({OwnModule()});
  const std::vector<NativeLocation> locations = symbolizer.Resolve(traced::StepWithForeignLine(1));
  ASSERT_EQ(locations.size(), 1u);
  EXPECT_EQ(locations[0].function, "traced::StepWithForeignLine(int)");
  EXPECT_EQ(locations[0].function_file, "/srv/project/step.cc");
  EXPECT_EQ(locations[0].file, kTensorBody);
  EXPECT_EQ(locations[0].line, 4311);
}

TEST(NativeSymbolizerTest, WithoutDebugInformationNamesTheSymbol) {
  NativeSymbolizer symbolizer({OwnModule()});
  const std::vector<NativeLocation> locations = symbolizer.Resolve(traced::StepWithoutLines(1));
  ASSERT_EQ(locations.size(), 1u);
  EXPECT_EQ(locations[0].function, "traced::StepWithoutLines(int)");
  EXPECT_EQ(locations[0].function_file, std::nullopt);
  EXPECT_EQ(locations[0].file, std::nullopt);
  EXPECT_EQ(locations[0].line, std::nullopt);
}

// Every damaged byte lies in a section of debug information: what is found may be wrong, but it ends.
TEST(NativeSymbolizerTest, SurvivesDamagedDebugInformation) {
  testing::TempDir temp;
  Module module = OwnModule();
  const std::string bytes = ReadFile(module.path);
  const std::vector<std::pair<size_t, size_t>> sections = DebugSections(bytes);
  ASSERT_FALSE(sections.empty());
  const uint64_t addresses[] = {traced::Step(1), traced::CallerOfThis(1), traced::StepWithForeignLine(1)};
  std::mt19937 random(7);
  int changed_count = 0;
  for (int round = 0; round < 60; ++round) {
    std::string damaged = bytes;
    for (const auto& [begin, size] : sections) {
      // A few bytes of large sections and many of small ones reach different depths.
      for (int i = 0; i < 1 + round * 4; ++i) damaged[begin + random() % size] = static_cast<char>(random());
    }
    module.path = temp.Write("damaged", damaged);
    NativeSymbolizer symbolizer({module});
    for (const uint64_t address : addresses) {
      const std::vector<NativeLocation> locations = symbolizer.Resolve(address);
      ASSERT_GE(locations.size(), 1u);
      ASSERT_LE(locations.size(), 128u);
      EXPECT_TRUE(locations.back().function.has_value()) << "symbols are whole";
      changed_count += address == addresses[0] && locations.size() != 3;
    }
  }
  EXPECT_GT(changed_count, 0);
}

TEST(NativeSymbolizerTest, AnotherBuildGivesModuleAndOffset) {
  Module module = OwnModule();
  module.build_id.assign(20, 0xab);
  NativeSymbolizer symbolizer({module});
  const uint64_t address = traced::CallerOfThis(1);
  const NativeLocation location = symbolizer.Resolve(address).at(0);
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
    const NativeLocation location = symbolizer.Resolve(0x1801).at(0);
    EXPECT_EQ(location.function, std::nullopt) << path;
    EXPECT_EQ(location.module_offset, 0x800u) << path;
  }
}

TEST(NativeSymbolizerTest, AnAddressOutsideAllModulesIsUnknown) {
  NativeSymbolizer empty({});
  EXPECT_EQ(empty.Resolve(0x1234).at(0).module, std::nullopt);
  NativeSymbolizer symbolizer({OwnModule()});
  EXPECT_EQ(symbolizer.Resolve(0).at(0).module, std::nullopt);
  EXPECT_EQ(symbolizer.Resolve(1).at(0).module, std::nullopt);
  EXPECT_EQ(symbolizer.Resolve(UINT64_MAX).at(0).module, std::nullopt);
  // The first byte after a module belongs to its last call's return address.
  EXPECT_EQ(symbolizer.Resolve(OwnModule().end + 1).at(0).module, std::nullopt);
}

}  // namespace
}  // namespace stallhound::capture
